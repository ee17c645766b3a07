// What the formulas make of the run's own inputs, and what was measured.

import { card } from "../step_explorer/card.js";
import { h, replace } from "../step_explorer/dom.js";
import { NONE, ratio } from "../step_explorer/numbers.js";
import { badge } from "./methods.js";

/**
 * @import { ComparePage } from "./main.js"
 */

/** @type {[name: string, span: number, title: string][]} */
const GROUPS = [
  ["measured inputs", 5, "What goes into the formulas, from this very run"],
  ["tokens per step", 3, "τ: what the formulas make of it, and what was measured"],
  ["speedup", 3, "What the formulas expect, with the error of each, and what was measured"],
  ["should it pay?", 2, "The break-even rule of the paper, and with the root token counted"],
];
const COLUMNS = [
  [
    "α",
    "Acceptance rate of a depth, all depths together: accepted / (accepted + first rejections). In a chain that is one draft's rate; in a tree any of a depth's nodes may be accepted, so the two do not compare",
  ],
  ["K", "Mean depth of the drafts in a step"],
  ["n", "Mean rows of a verify pass, the root counted"],
  ["C(n)", "Time of a pass over n rows over that of one row, measured in this run"],
  ["K·T_draft/T₁", "Time of a step's drafting over plain decoding's time per token"],
  [
    "formula",
    "Chains: E = (1 − α^(K+1)) / (1 − α), a prediction from one measured number. Trees: τ = 1 + Σ P(L ≥ m) with the measured P, which is the measured mean itself: an identity, no prediction",
  ],
  [
    "of products",
    "The paper's estimate for trees: products of each head's own accuracy, as if heads were independent",
  ],
  ["measured", "New tokens per step with a verify pass"],
  ["S", "S = E / (1 + K·T_draft/T₁): takes the verify pass for as cheap as one row"],
  [
    "S′ with C(n)",
    "Chains: S′ = E / (C(K+1) + K·T_draft/T₁), without the rest of a step. Trees: S′ = τ / (C(n) + (T_heads + T_rest)/T₁): as τ is the measured one, its error is that of the cost side alone",
  ],
  [
    "measured",
    "All steps together: tokens per step over the step's time in plain tokens. (The table's speedup is the mean over prompts.)",
  ],
  ["paper's rule", "m·T_llm > k·T_draft + T_forward, with m accepted drafts"],
  ["root counted", "A step also emits the base model's own token, so m + 1"],
];

const SYMBOLS =
  "α: share of the judged depths that were accepted. K: drafts in a step, one after the other. n: rows of a pass. C(n): what a pass over n rows costs, in passes over one. T: times; T₁ is plain decoding's per token. E and τ: tokens per step. S and S′: speedup, without and with C(n). Point at a column's head for its formula.";
const WIDTHS = [13.5, 4.5, 4.5, 5, 5.5, 9, 8, 8.5, 7, 10, 10, 7, 7, 6]; // percent

/** @param {ComparePage} page */
export function formulasView(page) {
  const { element, note } = card("formulas", "What the formulas predict", "");
  const body = h("tbody", {});
  const table = h(
    "table",
    { class: "cx-table cx-formulas" },
    h("caption", { class: "sx-unseen" }, "Predictions beside measurements"),
    h("colgroup", {}, ...WIDTHS.map((width) => h("col", { style: `width:${width}%` }))),
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        h("th", { rowspan: 2, scope: "col" }, "method"),
        ...GROUPS.map(([name, span, title]) =>
          h("th", { colspan: span, scope: "colgroup", title }, name),
        ),
      ),
      h("tr", {}, ...COLUMNS.map(([name, title]) => h("th", { scope: "col", title }, name))),
    ),
    body,
  );
  const reading = h("p", { class: "cx-note" });
  const symbols = h("p", { class: "cx-note" }, SYMBOLS);
  element.append(
    h(
      "div",
      { class: "cx-scroll", tabindex: 0, role: "region", "aria-label": "Table of predictions" },
      table,
    ),
    symbols,
    reading,
  );

  function update() {
    const { report } = page.comparison;
    note.textContent =
      report?.curve_sentence || "from the run's own inputs, once the first prompt is done";
    replace(body, ...page.chosen.filter((name) => name !== "plain").map((name) => row(page, name)));
    reading.textContent = [report?.busy, report?.predictions_sentence].filter(Boolean).join(" ");
  }
  return { element, update };
}

/**
 * @param {ComparePage} page
 * @param {string} name
 */
function row(page, name) {
  const found = page.details(name)?.prediction;
  const heading = h("th", { scope: "row" }, h("span", { class: "cx-name" }, badge(name), name));
  if (!found)
    return h("tr", {}, heading, ...COLUMNS.map(() => h("td", { class: "sx-soft" }, NONE)));
  // A busy machine's timings contradict no rule.
  const busy = Boolean(page.comparison.report?.busy);
  return h(
    "tr",
    { "data-method": name },
    heading,
    number(ratio(found.alpha)),
    number(found.drafted.toFixed(1)),
    number(found.rows.toFixed(1)),
    number(ratio(found.cost)),
    number(ratio(found.draft)),
    number(`${found.chain ? "E =" : "τ ≡"} ${ratio(found.tokens_per_step)}`),
    number(ratio(found.product)),
    measured(ratio(found.measured_tokens_per_step)),
    number(`${ratio(found.speedup_idealised)}×`, found.error_idealised),
    number(`${ratio(found.speedup_at_cost)}×`, found.error_at_cost),
    measured(`${ratio(found.measured_speedup)}×`),
    answer(found.pays_as_published, busy ? null : found.published_is_wrong),
    answer(found.pays_corrected, busy ? null : found.corrected_is_wrong),
  );
}

/**
 * @param {string} text
 * @param {number | null} error
 */
const number = (text, error = null) =>
  h(
    "td",
    { class: "is-number" },
    text,
    error === null
      ? null
      : h("small", { title: "prediction error: predicted / measured − 1" }, ` ${signed(error)}`),
  );
/** @param {string} text */
const measured = (text) => h("td", { class: "is-number" }, h("strong", {}, text));

/**
 * A rule that contradicts the measurement says so.
 * @param {boolean} says
 * @param {boolean | null} wrong null: timings say too little
 */
function answer(says, wrong) {
  const title = wrong ? "the measurement says otherwise" : "as measured";
  return h(
    "td",
    { class: wrong ? "cx-wrong" : null, title: wrong === null ? null : title },
    says ? "yes" : "no",
    wrong ? h("small", {}, ", wrongly") : null,
  );
}

/** @param {number} error */
const signed = (error) => `${error < 0 ? "−" : "+"}${Math.abs(100 * error).toFixed(0)} %`;
