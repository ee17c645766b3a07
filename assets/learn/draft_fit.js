// A draft that does not fit the text, the temperature or the model: it makes decoding slower.

/**
 * @import { Data, Fit } from "./draft_and_verify.js"
 * @import { Tools } from "./kit.js"
 */

const MOST = 3; // tokens per step on the chart

/**
 * @param {Data} data
 * @param {Tools} tools
 */
export function fitView({ fit, drafts }, tools) {
  const { h, numbers } = tools;
  const { step_cost, costs, break_even, fits } = fit;
  const chart = tools.chart({
    label: `Speed against tokens per step: it pays from ${numbers.ratio(step_cost)}. ${fits.map(said).join("; ")}`,
    height: 250,
    x: { title: "tokens per step", min: 1, max: MOST, ticks: [1, 1.5, 2, 2.5, 3] },
    y: { title: "× plain decoding", min: 0, max: 1.8 },
  });
  chart.set({
    lines: [
      {
        name: "",
        points: [
          [1, 1 / step_cost],
          [MOST, MOST / step_cost],
        ],
        kind: "quiet",
      },
      {
        name: "",
        points: [
          [1, 1],
          [MOST, 1],
        ],
        kind: "quiet",
      },
    ],
    marks: [{ x: step_cost, label: "pays from here" }],
    dots: fits.map((one) => ({
      x: one.tokens_per_step,
      y: one.speedup,
      kind: one.source === "timed" ? "own" : "quiet",
      title: said(one),
    })),
  });
  /** @param {Fit} one */
  function said({ name, source, tokens_per_step, speedup }) {
    return `${name}: ${numbers.ratio(tokens_per_step)} tokens per step, ${numbers.ratio(speedup)}× (${source})`;
  }
  return h(
    "div",
    { class: "lx-card" },
    h("h3", {}, "The same draft on other text, hotter, and one that nobody trained"),
    chart.element,
    h(
      "p",
      { class: "lx-note" },
      `The sloping line is tokens per step over the cost of a step. Filled points were timed: ${fit.machine}. There a step costs ${numbers.ratio(step_cost)} plain passes: ${numbers.ratio(costs.verify)} to verify, ${numbers.ratio(costs.draft)} to draft, ${numbers.ratio(costs.rest)} for the rest; ${break_even === null ? "no acceptance rate pays for it" : `so it pays from α = ${numbers.ratio(break_even)}`}. Rings: tokens per step were counted (${drafts.prompts} prompts, ${drafts.measured}), their speed is an estimate from that cost; for the untrained draft, the base model's own first layer, drafting costs what it reads.`,
    ),
    table(fits, tools),
  );
}

/**
 * @param {Fit[]} fits
 * @param {Tools} tools
 */
function table(fits, { h, numbers }) {
  const heads = ["text or draft", "accepted", "tokens per step", "× plain", "how"];
  return h(
    "details",
    {},
    h("summary", {}, "All of them as numbers"),
    h(
      "table",
      { class: "lx-table" },
      h("tr", {}, ...heads.map((text) => h("th", { scope: "col" }, text))),
      ...fits.map(({ name, source, acceptance, tokens_per_step, speedup }) =>
        h(
          "tr",
          {},
          h("th", { scope: "row" }, name),
          h("td", {}, acceptance === null ? "–" : numbers.percent(acceptance)),
          h("td", {}, numbers.ratio(tokens_per_step)),
          h("td", {}, numbers.ratio(speedup)),
          h("td", {}, source === "timed" ? "timed" : "estimate"),
        ),
      ),
    ),
  );
}
