// Chapter 8: the greedy construction, node by node, and what each machine makes of it.

import { tidy } from "../step_explorer/tree_layout.js";
import { grown } from "./growing.js";

/**
 * @import { Tools } from "./kit.js"
 * @import { Trace } from "../step_explorer/trace.js"
 * @typedef {{ name: string, source: string, cost: number[], speedup: number[], best: number, most: number }} Machine
 * @typedef {{ paths: number[][], success: number[], expected: number[], product: number[],
 *   machines: Machine[], question: Parameters<Tools["question"]>[0] }} Data
 */

const [WIDTH, HEIGHT, MARGIN] = [420, 300, 12];
const PAUSE = 350; // ms between two nodes

/** The step with the widest tree. @param {Trace} trace */
export function seenIn({ steps }) {
  const rows = steps.map((step) => step.token_ids.length);
  return steps.length && Math.max(...rows) > 1 ? rows.indexOf(Math.max(...rows)) : null;
}

/**
 * @param {HTMLElement} place
 * @param {Data} data
 * @param {Tools} tools
 */
export async function mount(place, data, tools) {
  const here = await tools.asked("costs"); // what a running app measured of its machine
  const machines = here ? [here, ...data.machines] : data.machines;
  mountMachines(place, { ...data, machines }, tools);
}

/**
 * @param {HTMLElement} place
 * @param {Data} data
 * @param {Tools} tools
 */
function mountMachines(place, data, tools) {
  const { h, choice, slider, figures } = tools;
  const state = { nodes: 1, machine: data.machines[0] };
  const picture = treePicture(data, tools);
  const charts = curves(data, tools);
  const out = figures([
    ["nodes", "nodes"],
    ["added", "the last is right"],
    ["tau", "tokens per step"],
    ["cost", "C(n)"],
    ["speedup", "speedup, estimated"],
  ]);
  const source = h("p", { class: "lx-note", role: "status" });
  const update = () => {
    const { nodes, machine } = state;
    picture.show(nodes);
    charts.show(state);
    out.set("nodes", String(nodes));
    out.set("added", tools.numbers.share(data.success[nodes - 1]));
    out.set("tau", (1 + data.expected[nodes - 1]).toFixed(2));
    out.set("cost", machine.cost[nodes].toFixed(2));
    out.set("speedup", machine.speedup[nodes].toFixed(2));
    source.textContent = `${judgement(nodes, machine)} (${machine.source})`;
  };
  const size = slider({
    ...{ label: "Nodes", min: 1, max: data.paths.length, step: 1, value: 1, format: String },
    change: (value) => {
      player.stop();
      state.nodes = value;
      update();
    },
  });
  const to = (/** @type {number} */ nodes) => {
    state.nodes = Math.min(data.paths.length, nodes);
    size.set(state.nodes);
    update();
    return state.nodes < data.paths.length;
  };
  const player = playing(tools, to, () => state.nodes);
  const machines = choice(
    "Costs of",
    data.machines.map(({ name }) => [name, name]),
    state.machine.name,
    (name) => {
      state.machine = data.machines.find((one) => one.name === name) ?? data.machines[0];
      update();
    },
  );
  const best = h(
    "button",
    { type: "button", onclick: () => to(state.machine.best) },
    "Its best tree",
  );
  place.append(
    h(
      "div",
      { class: "lx-card" },
      machines.element,
      h("div", { class: "lx-buttons" }, ...player.buttons, best),
      size.element,
      out.element,
      source,
      h("div", { class: "lx-pair" }, picture.element, charts.element),
    ),
    tools.question(data.question),
  );
  update();
}

/**
 * @param {number} nodes
 * @param {Machine} machine
 */
function judgement(nodes, { speedup, best }) {
  if (nodes === best)
    return "The best size for this machine: the next node costs more than it brings.";
  if (speedup[nodes] < 1)
    return "Slower than plain decoding: the rows cost more than the guesses bring.";
  return nodes < best
    ? "More nodes still pay."
    : `Too many: with ${best} it would be ${speedup[best].toFixed(2)}.`;
}

/**
 * Play adds node by node; with reduced motion there are only steps.
 * @param {Tools} tools
 * @param {(nodes: number) => boolean} to whether there are more
 * @param {() => number} at
 */
function playing({ h }, to, at) {
  /** @type {ReturnType<typeof setInterval> | undefined} */
  let timer;
  const stop = () => {
    clearInterval(timer);
    timer = undefined;
    play.textContent = "Grow ▸";
  };
  const start = () => {
    play.textContent = "Stop";
    timer = setInterval(() => {
      if (!to(at() + 1) || !play.isConnected) stop();
    }, PAUSE);
  };
  const play = h("button", { type: "button", onclick: () => (timer ? stop() : start()) }, "Grow ▸");
  const next = h(
    "button",
    {
      type: "button",
      onclick: () => {
        stop();
        to(at() + 1);
      },
    },
    "Next node",
  );
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  return { buttons: still ? [next] : [play, next], stop };
}

/**
 * The tree as it grows; each node keeps its place from the first to the last.
 * @param {Data} data
 * @param {Tools} tools
 */
function treePicture({ paths, success }, { h, s, numbers }) {
  const shape = grown(paths);
  const { place, lines } = tidy(shape, new Set());
  const depth = Math.max(...shape.depths);
  const at = (/** @type {number} */ row) => {
    const { column, line } = place.get(row) ?? { column: 0, line: 0 };
    return {
      x: MARGIN + (column * (WIDTH - 2 * MARGIN)) / depth,
      y: MARGIN + (line * (HEIGHT - 2 * MARGIN)) / Math.max(1, lines - 1),
    };
  };
  const root = s("rect", {
    class: "lx-node is-root",
    x: at(0).x - 5,
    y: at(0).y - 5,
    width: 10,
    height: 10,
  });
  const svg = s("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img" }, root);
  const drawn = paths.map((path, i) => {
    const [from, to] = [at(shape.parents[i + 1]), at(i + 1)];
    const middle = (from.x + to.x) / 2;
    const said = `head ${path.length}, path ${path.map((rank) => rank + 1).join("·")}: right at ${numbers.share(success[i])} of positions`;
    return s(
      "g",
      { class: "lx-grown" },
      s("path", {
        d: `M${from.x} ${from.y}C${middle} ${from.y} ${middle} ${to.y} ${to.x} ${to.y}`,
      }),
      s("circle", { cx: to.x, cy: to.y, r: 2.5 + 8 * Math.sqrt(success[i] / success[0]) * 0.6 }),
      s("title", {}, said),
    );
  });
  svg.append(...drawn);
  const show = (/** @type {number} */ nodes) => {
    drawn.forEach((node, i) => {
      node.classList.toggle("is-there", i < nodes);
      node.classList.toggle("is-last", i === nodes - 1);
    });
    svg.setAttribute(
      "aria-label",
      `Candidate tree of ${nodes} nodes; the last is ${drawn[nodes - 1].querySelector("title")?.textContent}`,
    );
  };
  return { element: h("div", { class: "lx-growing" }, svg), show };
}

/**
 * @param {Data} data
 * @param {Tools} tools
 */
function curves({ expected, product, machines }, tools) {
  const most = expected.length;
  const x = { title: "nodes", min: 0, max: most };
  const accepted = tools.chart({
    ...{ label: "Expected accepted drafts", height: 150 },
    x: { ...x },
    y: { title: "E[L]", min: 0, max: Math.ceil(2 * expected[most - 1]) / 2 },
  });
  const speed = tools.chart({
    ...{ label: "Speedup", height: 190 },
    x: { ...x },
    y: { title: "speedup", min: 0, max: 2.75 },
  });
  const points = (/** @type {number[]} */ values, from = 1) =>
    values.map((value, i) => /** @type {[number, number]} */ ([i + from, value]));
  /** @param {{ nodes: number, machine: Machine }} state */
  function show({ nodes, machine }) {
    accepted.set({
      label: `E[L] with ${nodes} nodes: ${expected[nodes - 1].toFixed(2)}`,
      lines: [
        { name: "product", points: points(product), kind: "rival" },
        { name: "counted", points: points(expected), kind: "own" },
      ],
      dots: [{ x: nodes, y: expected[nodes - 1] }],
    });
    speed.set({
      label: `Estimated speedup with ${nodes} nodes: ${machine.speedup[nodes].toFixed(2)}; at most ${machine.most.toFixed(2)} with ${machine.best}`,
      lines: [
        ...machines
          .filter((one) => one !== machine)
          .map((one) => ({ name: one.name, points: points(one.speedup, 0), kind: "quiet" })),
        { name: machine.name, points: points(machine.speedup, 0), kind: "own" },
      ],
      marks: [{ x: machine.best, label: `best: ${machine.best}` }],
      dots: [{ x: nodes, y: machine.speedup[nodes] }],
    });
  }
  return { element: tools.h("div", {}, accepted.element, speed.element), show };
}
