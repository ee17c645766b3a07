// Tensor parallelism: the reading is split over GPUs, the sums over links are not.

import { tensorParallelSeconds, weightBytes } from "./formulas.js";

/**
 * @import { Data, Llm } from "./draft_and_verify.js"
 * @import { Tools } from "./kit.js"
 */

/**
 * @param {Data} data
 * @param {Tools} tools
 */
export function linksView(data, tools) {
  const { h, numbers } = tools;
  const gpu = data.gpus.find(({ name }) => name === "H100") ?? data.gpus[0];
  const setting = {
    target: data.models[0],
    draft: data.models[2],
    gpus: 8,
    memory: gpu.memory,
    link: data.link,
    latency: data.latency,
  };
  const chart = tools.chart({
    label: "Time of a pass against GPUs",
    height: 230,
    x: { title: "GPUs", min: 1, max: 8, ticks: [1, 2, 4, 8] },
    y: {
      title: "ms",
      min: 0.02,
      max: 50,
      log: true,
      format: (value) => numbers.significant(value, 1),
    },
  });
  const out = tools.figures([
    ["target", "target's pass"],
    ["draft", "draft's pass"],
    ["ratio", "T draft / T target"],
    ["share", "of the draft's pass: sums"],
  ]);
  const update = () => {
    const { target, draft, gpus } = setting;
    const of = (
      /** @type {Llm} */ model,
      /** @type {number} */ bits,
      /** @type {number} */ count,
    ) => tensorParallelSeconds(model, weightBytes(model.parameters, bits), count, setting);
    const [large, small] = [of(target, 4, gpus), of(draft, 16, gpus)];
    const ms = (/** @type {number} */ seconds) => `${numbers.significant(1e3 * seconds)}\u202fms`;
    out.set("target", ms(large.whole));
    out.set("draft", ms(small.whole));
    out.set("ratio", numbers.significant(small.whole / large.whole, 2));
    out.set("share", numbers.share(small.summing / small.whole));
    const counts = [1, 2, 3, 4, 5, 6, 7, 8];
    /** @returns {[number, number][]} */
    const line = (/** @type {(count: number) => number} */ y) => counts.map((n) => [n, 1e3 * y(n)]);
    chart.set({
      label: `On ${gpus} GPUs the target's pass takes ${ms(large.whole)}, the draft's ${ms(small.whole)}.`,
      lines: [
        { name: target.name, points: line((n) => of(target, 4, n).whole), kind: "rival" },
        { name: draft.name, points: line((n) => of(draft, 16, n).whole), kind: "own" },
        { name: "its reading alone", points: line((n) => of(draft, 16, n).reading), kind: "quiet" },
      ],
      marks: [{ x: gpus, label: "" }],
    });
  };
  const change = (/** @type {Partial<typeof setting>} */ values) => {
    Object.assign(setting, values);
    update();
  };
  const element = h(
    "div",
    { class: "lx-card" },
    tools.choice(
      "Draft",
      data.models.slice(1).map(({ name }) => [name, name]),
      setting.draft.name,
      (name) => change({ draft: data.models.find((one) => one.name === name) ?? setting.draft }),
    ).element,
    h("div", { class: "lx-controls" }, ...sliders(setting, change, tools)),
    out.element,
    chart.element,
    h(
      "p",
      { class: "lx-note" },
      `An estimate, not a measurement: ${setting.target.name} in 4 bits and a draft in 16, memory of an H100 (data sheet), two all-reduces a layer. Arithmetic and launches are left out, so real passes take longer.`,
    ),
  );
  update();
  return element;
}

/**
 * @param {{ gpus: number, latency: number, link: number }} setting
 * @param {(values: object) => void} change
 * @param {Tools} tools
 */
function sliders(setting, change, { slider, numbers }) {
  return [
    slider({
      ...{ label: "GPUs", values: [1, 2, 4, 8], value: setting.gpus, min: 1, max: 8 },
      format: String,
      change: (gpus) => change({ gpus }),
    }),
    slider({
      ...{ label: "Latency of an all-reduce", min: 1e-6, max: 1e-4, log: true },
      value: setting.latency,
      format: (value) => `${numbers.significant(1e6 * value, 2)}\u202fµs`,
      change: (latency) => change({ latency }),
    }),
    slider({
      ...{ label: "Bandwidth of a link", min: 1e9, max: 1e12, log: true, value: setting.link },
      format: (value) => numbers.scaled(value, "B/s"),
      change: (link) => change({ link }),
    }),
  ].map(({ element }) => element);
}
