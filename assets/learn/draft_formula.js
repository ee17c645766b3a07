// E, S and S′ against the number of drafts, with the measured points of a run on the same axes.

import { expectedTokens, speedupAtCost } from "./formulas.js";

/**
 * @import { Data } from "./draft_and_verify.js"
 * @import { Tools } from "./kit.js"
 * @import { Trace } from "../step_explorer/trace.js"
 * @typedef {{ alpha: number, k: number, ratio: number, costs: number }} Setting
 * @typedef {{ k: number, tokens: number, speedup: number | null, name: string }} Point
 */

/**
 * @param {Data} data
 * @param {Tools} tools
 */
export function formulaView(data, tools) {
  const { h, numbers } = tools;
  /** @type {Setting} */
  const setting = { ...data.start, costs: 0 };
  const chart = tools.chart({
    label: "Tokens per step and speedup against the number of drafts",
    height: 280,
    x: {
      title: "drafts a step, K",
      min: 0,
      max: data.most,
      ticks: [0, 2, 4, 6, 8, 10, 12, 14, 16],
    },
    y: { title: "E: tokens a step; S, S′: speedup", min: 0, max: 5 },
  });
  const out = tools.figures([
    ["tokens", "E: tokens per step"],
    ["ideal", "S: if rows were free"],
    ["real", "S′: with this cost"],
    ["best", "best K by S′"],
  ]);
  const verdict = h("p", { class: "lx-note", role: "status" });
  const points = numbered([...recordedPoint(data), ...ownPoint(tools.lastRun())]);
  const update = () => {
    const { alpha, k, ratio } = setting;
    const { cost } = data.costs[setting.costs];
    const real = (/** @type {number} */ drafts) =>
      speedupAtCost(alpha, drafts, ratio, cost[drafts]);
    const all = Array.from({ length: data.most + 1 }, (_, i) => i);
    const best = all.reduce((one, other) => (real(other) > real(one) + 1e-9 ? other : one), 0);
    out.set("tokens", numbers.ratio(expectedTokens(alpha, k)));
    out.set("ideal", `${numbers.ratio(speedupAtCost(alpha, k, ratio, 1))}×`);
    out.set("real", `${numbers.ratio(real(k))}×`);
    out.set("best", best ? `${best}, ${numbers.ratio(real(best))}×` : "none pays");
    verdict.textContent = inequality(setting, cost[k], numbers);
    chart.set({
      y: { max: Math.max(2, Math.ceil(expectedTokens(alpha, data.most) + 0.2)) },
      label: `With α ${alpha.toFixed(2)}: E, S and S′ against K; at K = ${k} they are ${numbers.ratio(expectedTokens(alpha, k))}, ${numbers.ratio(speedupAtCost(alpha, k, ratio, 1))} and ${numbers.ratio(real(k))}.`,
      lines: [
        { name: "E", points: all.map((i) => [i, expectedTokens(alpha, i)]), kind: "quiet" },
        {
          name: "S",
          points: all.map((i) => [i, speedupAtCost(alpha, i, ratio, 1)]),
          kind: "rival",
        },
        { name: "S′", points: all.map((i) => [i, real(i)]), kind: "own" },
        {
          name: "",
          points: [
            [0, 1],
            [data.most, 1],
          ],
          kind: "quiet",
        },
      ],
      marks: [{ x: k, label: `K = ${k}` }],
      dots: points.flatMap(({ dots }) => dots),
    });
  };
  const change = (/** @type {Partial<Setting>} */ values) => {
    Object.assign(setting, values);
    update();
  };
  const element = h(
    "div",
    { class: "lx-card" },
    h("div", { class: "lx-controls" }, ...sliders(data, setting, change, tools)),
    tools.choice(
      "Cost of rows",
      data.costs.map(({ name }, i) => [String(i), name.split(" · ")[0]]),
      "0",
      (chosen) => change({ costs: Number(chosen) }),
    ).element,
    out.element,
    verdict,
    chart.element,
    h(
      "p",
      { class: "lx-note" },
      `Curves are the formulas; the cost curves were measured on ${data.costs[0].name.split(" · ")[1]} (${data.costs[0].measured}). Points were measured, ○ tokens per step and ● speedup: ${points.map(({ words }) => words).join("; ")}.`,
    ),
  );
  update();
  return element;
}

/**
 * @param {Data} data
 * @param {Setting} setting
 * @param {(values: Partial<Setting>) => void} change
 * @param {Tools} tools
 */
function sliders(data, setting, change, { slider }) {
  return [
    slider({
      ...{ label: "Acceptance rate α", min: 0, max: 1, step: 0.01, value: setting.alpha },
      format: (value) => value.toFixed(2),
      change: (alpha) => change({ alpha }),
    }),
    slider({
      ...{ label: "Drafts K", min: 0, max: data.most, step: 1, value: setting.k },
      format: String,
      change: (k) => change({ k }),
    }),
    slider({
      ...{ label: "T draft / T target", min: 0, max: 0.5, step: 0.01, value: setting.ratio },
      format: (value) => value.toFixed(2),
      change: (ratio) => change({ ratio }),
    }),
  ].map(({ element }) => element);
}

/**
 * The inequality as it is often printed, beside the one that counts the model's own token.
 * @param {Setting} setting
 * @param {number} cost
 * @param {Tools["numbers"]} numbers
 */
export function inequality({ alpha, k, ratio }, cost, numbers) {
  const accepted = expectedTokens(alpha, k) - 1;
  const price = k * ratio + cost;
  const says = (/** @type {boolean} */ yes) => (yes ? "pays" : "does not pay");
  const [printed, right] = [accepted > price, accepted + 1 > price];
  const numbersSaid = `A step costs ${numbers.ratio(price)} plain passes. Its ${numbers.ratio(accepted)} accepted drafts alone: it ${says(printed)}. With the model's own token, ${numbers.ratio(accepted + 1)}: it ${says(right)}.`;
  return printed === right ? numbersSaid : `${numbersSaid} The printed rule is wrong here.`;
}

/**
 * The trained draft that ships: counted on the development prompts, and timed beside all methods.
 * @param {Data} data
 * @returns {Point[]}
 */
function recordedPoint({ drafts, fit: { timed, machine } }) {
  const trained = drafts.drafts.find(({ layers }) => layers === 0);
  if (!trained) return [];
  const k = drafts.draft_tokens;
  return [
    {
      ...{ k, tokens: trained.tokens_per_step, speedup: null },
      name: `the shipped draft model, counted (α ${trained.acceptance.toFixed(2)}, ${drafts.prompts} prompts, ${drafts.measured})`,
    },
    {
      ...{ k, tokens: timed.tokens_per_step, speedup: timed.speedup },
      name: `the same, timed, ± ${timed.half_width.toFixed(2)} (${machine})`,
    },
  ];
}

/**
 * The visitor's last run: tokens per step, and the speedup of its race.
 * @param {Trace | null} trace
 * @returns {Point[]}
 */
function ownPoint(trace) {
  const lane = trace?.figures?.lane;
  if (!trace?.header || !lane?.tokens_per_step || !trace.steps.length) return [];
  const depths = trace.steps.map((step) => Math.max(...trace.shape(step).depths));
  const k = Math.round(depths.reduce((sum, depth) => sum + depth, 0) / depths.length);
  return [
    {
      ...{ k, tokens: lane.tokens_per_step, speedup: trace.figures?.speedup ?? null },
      name: `your last run (${trace.header.settings.method})`,
    },
  ];
}

/**
 * Dots with a number each, and the words that explain the numbers.
 * @param {Point[]} points
 */
export function numbered(points) {
  const numbers = [..."①②③④⑤⑥"].values();
  return points.map(({ k, tokens, speedup, name }) => {
    const dots = [{ x: k, y: tokens, kind: "quiet", says: `${tokens.toFixed(2)} tokens per step` }];
    if (speedup !== null)
      dots.push({ x: k, y: speedup, kind: "own", says: `${speedup.toFixed(2)}×` });
    const named = dots.map(({ says, ...dot }) => {
      const label = numbers.next().value ?? "";
      return { ...dot, label, title: `${says}: ${name}`, words: `${label} ${says}` };
    });
    return { dots: named, words: `${named.map(({ words }) => words).join(", ")}: ${name}` };
  });
}
