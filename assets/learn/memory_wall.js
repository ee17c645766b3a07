// Chapter 1: what a pass costs on a machine, and where that lies under the machine's roof.

import { arithmeticIntensity, freeRows, passSeconds, weightBytes } from "./formulas.js";

/**
 * @import { Tools } from "./kit.js"
 * @import { Trace } from "../step_explorer/trace.js"
 * @typedef {{ name: string, bandwidth: number, flops: number, memory: number | null, source: string }} Machine
 * @typedef {{ model: string, parameters: number, bits: number, rows: number[], milliseconds: number[], source: string }} Recorded
 * @typedef {{ machines: Machine[], recorded: Recorded, question: Parameters<Tools["question"]>[0] }} Data
 * @typedef {{ parameters: number, bits: number, bandwidth: number, flops: number, batch: number, rows: number }} Setting
 */

const CUSTOM = "own";
const [FEWEST, MOST] = [0.1, 3000]; // FLOP per byte on the chart

/**
 * @param {HTMLElement} place
 * @param {Data} data
 * @param {Tools} tools
 */
export async function mount(place, data, tools) {
  const { h } = tools;
  const machines = [...data.machines];
  /** @type {Setting} */
  const setting = { parameters: 70e9, bits: 16, ...pick(machines, "H100"), batch: 1, rows: 1 };
  const out = calculator(tools);
  const roof = tools.chart({
    label: "Roofline",
    height: 230,
    x: { title: "FLOP per byte read", min: FEWEST, max: MOST, log: true },
    y: {
      title: "FLOP/s",
      min: 1e10,
      max: 1e16,
      log: true,
      format: (value) => tools.numbers.scaled(value, ""),
    },
  });
  const source = h("p", { class: "lx-note" });
  const update = () => {
    out.show(setting, machines);
    roof.set(drawing(setting, machines, data.recorded, tools));
    const one = machines.find((machine) => matches(machine, setting));
    source.textContent = one
      ? `${one.name}: ${one.source}.`
      : "Your own figures for the machine: an estimate.";
  };
  const change = (/** @type {Partial<Setting>} */ values) => {
    Object.assign(setting, values);
    update();
  };
  const inputs = controls(setting, machines, data.recorded, tools, change);
  place.append(
    h("div", { class: "lx-card" }, inputs.element, out.element),
    h(
      "div",
      { class: "lx-card" },
      h("h3", {}, "Under the roof: bandwidth on the slope, arithmetic on the flat part"),
      roof.element,
      source,
    ),
    tools.question(data.question),
  );
  update();
  const here = await tools.machine();
  if (here?.bandwidth) inputs.addMachine(measuredHere(here, data));
}

/** A step whose pass checked several rows, beside the price of one. @param {Trace} trace */
export function seenIn({ steps }) {
  const found = steps.findIndex(({ token_ids }) => token_ids.length > 1);
  return found < 0 ? null : found;
}

/**
 * This machine as the running app measured it; its arithmetic stays that of the recorded one.
 * @param {{ model: string, bandwidth: number | null }} here
 * @param {Data} data
 * @returns {Machine}
 */
function measuredHere({ model, bandwidth }, { machines: [recorded] }) {
  return {
    name: "this machine",
    bandwidth: 1e9 * Number(bandwidth),
    flops: recorded.flops,
    memory: null,
    source: `${model}: bandwidth measured at this start; arithmetic as recorded (${recorded.source})`,
  };
}

/**
 * @param {Machine[]} machines
 * @param {string} name
 */
function pick(machines, name) {
  const { bandwidth, flops } = machines.find((one) => one.name === name) ?? machines[0];
  return { bandwidth, flops };
}

/** @param {Machine} machine @param {Setting} setting */
const matches = (machine, setting) =>
  machine.bandwidth === setting.bandwidth && machine.flops === setting.flops;

/**
 * @param {Setting} setting
 * @param {Machine[]} machines
 * @param {Recorded} recorded
 * @param {Tools} tools
 * @param {(values: Partial<Setting>) => void} change
 */
function controls(setting, machines, recorded, tools, change) {
  const { h, numbers } = tools;
  const one = (/** @type {keyof Setting} */ key, /** @type {object} */ more) =>
    tools.slider({
      ...{ label: key, min: 1, max: 2, value: setting[key], format: String },
      ...more,
      change: (value) => {
        change({ [key]: value });
        if (key === "bandwidth" || key === "flops") machine.set(CUSTOM);
        if (key === "parameters" || key === "bits") model.set(CUSTOM);
      },
    });
  const whole = (/** @type {number} */ value) => numbers.count(Math.round(value));
  const powers = Array.from({ length: 10 }, (_, i) => 2 ** i);
  const sliders = {
    parameters: one("parameters", {
      ...{ label: "Parameters N", min: 1e8, max: 1e12, log: true },
      format: (/** @type {number} */ value) => numbers.scaled(value, "").replace("G", "B"),
    }),
    bits: one("bits", {
      ...{ label: "Bits per parameter", values: [2, 3, 4, 4.5, 5, 6, 8, 16, 32] },
      format: (/** @type {number} */ value) => numbers.significant(value, 2),
    }),
    bandwidth: one("bandwidth", {
      ...{ label: "Bandwidth W", min: 1e10, max: 1e13, log: true },
      format: (/** @type {number} */ value) => numbers.scaled(value, "B/s"),
    }),
    flops: one("flops", {
      ...{ label: "Arithmetic F", min: 1e11, max: 3e15, log: true },
      format: (/** @type {number} */ value) => numbers.scaled(value, "FLOP/s"),
    }),
    batch: one("batch", { label: "Batch B (sequences)", values: powers, format: whole }),
    rows: one("rows", {
      ...{ label: "Rows n of each", min: 1, max: 128, step: 1, format: whole },
    }),
  };
  const use = (/** @type {Partial<Setting>} */ values) => {
    for (const [key, value] of /** @type {[keyof Setting, number][]} */ (Object.entries(values)))
      sliders[key].set(value);
    change(values);
  };
  /** @type {Record<string, { parameters: number, bits: number }>} */
  const models = {
    [recorded.model]: { parameters: recorded.parameters, bits: recorded.bits },
    "7B, 4 bits": { parameters: 7e9, bits: 4 },
    "70B, 4 bits": { parameters: 70e9, bits: 4 },
    "70B, 16 bits": { parameters: 70e9, bits: 16 },
  };
  const model = tools.choice(
    "Model",
    Object.keys(models).map((name) => [name, name.replace(/ Instruct, .*/, "")]),
    "70B, 16 bits",
    (name) => use(models[name]),
  );
  const machinePlace = h("div", {});
  let machine = machineChoice("H100");
  /** @param {string} name */
  function machineChoice(name) {
    const made = tools.choice(
      "Machine",
      machines.map((each) => [each.name, each.name]),
      name,
      (chosen) => use(pick(machines, chosen)),
    );
    machinePlace.replaceChildren(made.element);
    return made;
  }
  const element = h(
    "div",
    {},
    model.element,
    machinePlace,
    h("div", { class: "lx-controls" }, ...Object.values(sliders).map((each) => each.element)),
  );
  const addMachine = (/** @type {Machine} */ added) => {
    machines.unshift(added);
    const chosen = machines.find((each) => matches(each, setting));
    machine = machineChoice(chosen?.name ?? CUSTOM);
  };
  return { element, addMachine };
}

/** @param {Tools} tools */
function calculator({ h, figures, numbers }) {
  const out = figures([
    ["weights", "weights"],
    ["read", "reading"],
    ["compute", "computing"],
    ["token", "pass, at least"],
    ["intensity", "FLOP per byte"],
    ["idle", "arithmetic waits"],
    ["free", "rows that fit"],
  ]);
  const note = h("p", { class: "lx-note", role: "status" });
  /**
   * @param {Setting} setting
   * @param {Machine[]} machines
   */
  function show(setting, machines) {
    const { parameters, bits, bandwidth, flops, batch, rows } = setting;
    const time = passSeconds(parameters, bits, bandwidth, flops, batch * rows);
    const ms = (/** @type {number} */ seconds) => `${numbers.significant(1e3 * seconds)}\u202fms`;
    out.set("weights", numbers.size(weightBytes(parameters, bits)));
    out.set("read", ms(time.read));
    out.set("compute", ms(time.compute));
    out.set("token", ms(time.whole));
    out.set("intensity", numbers.significant(arithmeticIntensity(bits, batch * rows)));
    out.set("idle", numbers.share(1 - time.compute / time.whole));
    out.set("free", numbers.count(Math.floor(freeRows(bits, bandwidth, flops))));
    note.textContent = `${sentence(time, batch * rows)} ${tooLarge(setting, machines, numbers)}`;
  }
  return { element: h("div", {}, out.element, note), show };
}

/**
 * @param {{ read: number, compute: number }} time
 * @param {number} rows
 */
function sentence({ read, compute }, rows) {
  if (compute > read)
    return "Compute-bound: the slack is used up, and every further row costs its full price.";
  const most = Math.floor((rows * read) / compute);
  return most > rows
    ? `Memory-bound: up to ${most} rows take no longer than ${rows === 1 ? "this one" : `these ${rows}`}.`
    : "Just at the edge: one more row, and arithmetic is the limit.";
}

/**
 * @param {Setting} setting
 * @param {Machine[]} machines
 * @param {Tools["numbers"]} numbers
 */
function tooLarge(setting, machines, numbers) {
  const machine = machines.find((one) => matches(one, setting));
  const need = weightBytes(setting.parameters, setting.bits);
  if (!machine?.memory || need <= machine.memory) return "";
  return `The weights do not fit in the ${numbers.size(machine.memory)} of one ${machine.name}: it takes ${Math.ceil(need / machine.memory)} of them, which read and compute side by side.`;
}

/**
 * @param {Setting} setting
 * @param {Machine[]} machines
 * @param {Recorded} recorded
 * @param {Tools} tools
 */
function drawing(setting, machines, recorded, { numbers }) {
  const { bits, bandwidth, flops, batch, rows } = setting;
  const intensity = arithmeticIntensity(bits, batch * rows);
  const reached = Math.min(flops, bandwidth * intensity);
  const others = machines.filter((machine) => !matches(machine, setting));
  const chosen = machines.find((machine) => matches(machine, setting));
  return {
    label: `Roofline: at ${numbers.significant(intensity)} FLOP per byte this pass reaches ${numbers.scaled(reached, "FLOP/s")} of ${numbers.scaled(flops, "FLOP/s")}.`,
    lines: [
      ...others.map((machine) => roofOf(machine, "quiet")),
      roofOf({ name: chosen?.name ?? "your machine", bandwidth, flops }, "own"),
    ],
    dots: [...measured(recorded), { x: intensity, y: reached, label: "this pass", kind: "rival" }],
  };
}

/**
 * @param {{ name: string, bandwidth: number, flops: number }} machine
 * @param {string} kind
 */
function roofOf({ name, bandwidth, flops }, kind) {
  /** @type {[number, number][]} */
  const points = [
    [FEWEST, FEWEST * bandwidth],
    [flops / bandwidth, flops],
    [MOST, flops],
  ];
  return { name, points, kind };
}

/**
 * Recorded passes of the default model: the arithmetic that they did in the time that they took.
 * @param {Recorded} recorded
 */
function measured({ parameters, bits, rows, milliseconds, source }) {
  return rows.map((n, i) => ({
    x: arithmeticIntensity(bits, n),
    y: (2 * parameters * n) / (milliseconds[i] / 1e3),
    kind: "quiet",
    title: `measured: a pass over ${n} rows took ${milliseconds[i].toFixed(1)} ms (${source})`,
  }));
}
