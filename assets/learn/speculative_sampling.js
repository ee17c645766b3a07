// Chapter 3: p and q to drag, and 10,000 draws that follow p whatever q is.

import { DistributionPicture } from "./distributions.js";
import { mountOwn } from "./own_run.js";
import {
  chiSquare,
  overlap,
  simulate,
  softmaxes,
  sum,
  withProbability,
  written,
} from "./sampling.js";

/**
 * @import { Tools } from "./kit.js"
 * @import { Candidates } from "./sampling.js"
 * @import { Trace } from "../step_explorer/trace.js"
 * @typedef {{ name: string, p: number[], q: number[] }} Preset
 * @typedef {{ step: number, depth: number, tokens: string[], p: number[], q: number[], candidate: number,
 *   name: string, chance: number, coin: number, accepted: boolean, overlap: number, next: string }} Tried
 * @typedef {{ draws: number, presets: Preset[], overflowing: number[], whose: string, trials: Tried[],
 *   question: Parameters<Tools["question"]>[0] }} Data
 * @typedef {{ tokens: string[], p: number[], q: number[], candidates: Candidates, seed: number, tried: Tried | null }} State
 */

const LETTERS = ["A", "B", "C", "D", "E"];

/**
 * The first step of a run in which a coin had something to decide.
 * @param {Trace} trace
 */
export function seenIn(trace) {
  const at = trace.steps.findIndex(({ trials }) =>
    trials?.some(({ chance }) => chance > 0 && chance < 1),
  );
  return at < 0 ? null : at;
}

/**
 * @param {HTMLElement} place
 * @param {Data} data
 * @param {Tools} tools
 */
export const mount = (place, data, tools) =>
  mountOwn(place, "speculative_sampling", data, tools, (given, own) =>
    drawn(given, tools, own !== null),
  );

/**
 * @param {Data} data
 * @param {Tools} tools
 * @param {boolean} own whether it begins with a step of the run
 */
function drawn(data, tools, own) {
  const { h, choice } = tools;
  /** @type {State} */
  const state = {
    ...{ tokens: LETTERS, candidates: "drawn", seed: 1, tried: null },
    ...(own ? ofTrial(data.trials[0]) : { p: data.presets[0].p, q: data.presets[0].q }),
  };
  const report = results(data, tools);
  const picture = new DistributionPicture((which, token, value) => {
    state[which] = withProbability(state[which], token, value);
    state.tried = null;
    update();
  });
  function update() {
    const outcome = simulate(state.p, state.q, { draws: data.draws, ...state });
    picture.set({ ...state, outcome, expected: written(state.p, state.q, state.candidates) });
    report.show(state, outcome);
  }
  const rule = choice(
    "Candidates",
    [
      ["drawn", "drawn from q"],
      ["top", "q’s best guess, every time"],
    ],
    "drawn",
    (value) => {
      state.candidates = value === "top" ? "top" : "drawn";
      update();
    },
  );
  const again = h(
    "button",
    {
      type: "button",
      onclick: () => {
        state.seed += 1;
        update();
      },
    },
    `Draw ${tools.numbers.count(data.draws)} again`,
  );
  update();
  return [
    h(
      "div",
      { class: "lx-card" },
      starts(data, tools, own, (given) => {
        Object.assign(state, given);
        update();
      }),
      rule.element,
      picture.element,
      h("div", { class: "lx-buttons" }, again),
      report.element,
    ),
    tools.question(data.question),
    edges(data, tools),
  ];
}

/**
 * The state that a step of a run is.
 * @param {Tried} tried
 */
const ofTrial = (tried) => ({ tokens: tried.tokens, p: tried.p, q: tried.q, tried });

/**
 * Where to begin: made-up distributions, or those of a step of a run.
 * @param {Data} data
 * @param {Tools} tools
 * @param {boolean} own
 * @param {(given: Partial<State>) => void} use
 */
function starts(data, { h, choice }, own, use) {
  const made = choice(
    "Try",
    data.presets.map(({ name }) => [name, name]),
    own ? "" : data.presets[0].name,
    (name) => {
      const { p, q } = data.presets.find((preset) => preset.name === name) ?? data.presets[0];
      real.set("");
      use({ tokens: LETTERS, p, q, tried: null });
    },
  );
  const real = choice(
    `Steps of ${data.whose}`,
    data.trials.map(({ step, name }, i) => [String(i), `${step + 1}: ${name}`]),
    own ? "0" : "",
    (index) => {
      made.set("");
      use(ofTrial(data.trials[Number(index)]));
    },
  );
  return h("div", {}, made.element, real.element);
}

/**
 * @param {Data} data
 * @param {Tools} tools
 */
function results({ draws, whose }, { h, figures, numbers }) {
  const out = figures([
    ["kept", "kept"],
    ["due", "Σ min(p, q)"],
    ["resampled", "drawn again"],
    ["chi", "χ² against p"],
    ["chance", "chance of so much"],
  ]);
  const verdict = h("p", { class: "lx-note lx-verdict", role: "status" });
  /**
   * @param {State} state
   * @param {ReturnType<typeof simulate>} outcome
   */
  function show(state, outcome) {
    const kept = sum(outcome.accepted) / draws;
    const counts = outcome.accepted.map((n, token) => n + outcome.resampled[token]);
    const test = chiSquare(counts, state.p);
    out.set("kept", numbers.share(kept));
    out.set("due", state.candidates === "drawn" ? numbers.share(overlap(state.p, state.q)) : "–");
    out.set("resampled", numbers.share(1 - kept));
    out.set("chi", `${chiText(test.value)} (${test.freedom} df)`);
    out.set("chance", numbers.probability(test.chance));
    verdict.textContent = `${fit(test.chance)} ${happened(state.tried, whose, numbers)}`;
    verdict.classList.toggle("is-off", test.chance < 0.001);
  }
  return { element: h("div", {}, out.element, verdict), show };
}

/** @param {number} value */
const chiText = (value) =>
  value === Infinity
    ? "∞"
    : value < 1000
      ? value.toFixed(1)
      : Math.round(value).toLocaleString("en");

/** @param {number} chance */
function fit(chance) {
  return chance < 0.001
    ? "This is not p: chance alone gives so large a χ² less than once in a thousand times."
    : "The draws agree with p: a χ² as large as this is what chance gives.";
}

/**
 * @param {Tried | null} tried
 * @param {string} whose
 * @param {Tools["numbers"]} numbers
 */
function happened(tried, whose, { probability }) {
  if (!tried) return "";
  const { step, name, chance, coin, accepted, next } = tried;
  const end = accepted ? "below it: accepted." : `not below it: rejected, and “${next}” was drawn.`;
  return `In step ${step + 1} of ${whose} “${name}” had the chance ${probability(chance)}; the coin fell on ${probability(coin)}, ${end}`;
}

/**
 * What breaks when it is written down carelessly.
 * @param {Data} data
 * @param {Tools} tools
 */
function edges({ overflowing }, { h, numbers }) {
  const { naive, stable } = softmaxes(overflowing);
  const list = (/** @type {number[]} */ values) =>
    values.map((value) => (Number.isNaN(value) ? "NaN" : numbers.probability(value))).join(", ");
  return h(
    "p",
    { class: "lx-note" },
    `Softmax of ${overflowing.join(", ")} as printed in many texts: ${list(naive)}. With the maximum taken out: ${list(stable)}.`,
  );
}
