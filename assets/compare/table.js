// One row a method: how fast, why, and at what price.

import { card } from "../step_explorer/card.js";
import { button, h, replace } from "../step_explorer/dom.js";
import { NONE, plural } from "../step_explorer/numbers.js";
import { copyMarkdown, saveCsv, saveJson } from "./exports.js";
import { badge, isFitted, isTuned } from "./methods.js";
import { cells } from "./table_cells.js";

/**
 * @import { ComparePage } from "./main.js"
 * @import { Report } from "../../types/page.js"
 */

const COLUMNS = [
  [
    "method",
    "A method drafts; one pass of the base model verifies. Hover a name for what it does.",
  ],
  [
    "tokens/s",
    "New tokens per second of the method's own steps, all prompts together. Prefill is not counted.",
  ],
  [
    "plain",
    "Tokens per second of plain decoding in the same races, interleaved step by step with the method.",
  ],
  [
    "speedup",
    "Typical prompt: the geometric mean over the prompts of the method's speed over plain's; ± is the half-width of its 95 % interval. Below it, all steps together: tokens/s over plain's, the total time saved.",
  ],
  ["tokens/step", "τ: new tokens per step. Plain decoding's is 1."],
  [
    "acceptance by depth",
    "Of the steps that reached a depth: the share that accepted any of the nodes there, depth 1 first. With a tree of each step's own, deep nodes stand only where the heads were sure, so the share can rise with depth; a chain has one node a depth. Hover a bar for the number of steps, and for the share of all steps, which is what vLLM prints per position.",
  ],
  [
    "where the time goes",
    "Share of a step's time: drafting (heads or draft model, and choosing), the verify pass, and the rest (accept and commit).",
  ],
  [
    "over floor",
    "The mean step's time over its floor: what the step has to read, at the speed with which this machine reads memory.",
  ],
  [
    "extra memory",
    "What the method holds besides the base model, counted from its tensors, and as a share of the base model's own.",
  ],
  [
    "same text",
    "Prompts on which the method wrote plain decoding's very tokens, in this run. The link leads to the evidence, prompt by prompt.",
  ],
];
const WIDTHS = [15.5, 6, 5.5, 11.5, 7.5, 17, 17, 6, 9, 10]; // percent, so that nothing moves as figures come

/** @param {ComparePage} page */
export function tableView(page) {
  const { element, note, tools } = card(
    "table",
    "Methods",
    "",
    button("CSV", "Save the table's figures as CSV", () => saveCsv(page)),
    button("JSON", "Save everything that was measured as JSON", () => saveJson(page)),
    button("Copy as Markdown", "Copy the table as Markdown", (event) =>
      copyMarkdown(page, event.target),
    ),
  );
  const body = h("tbody", {});
  const head = h(
    "thead",
    {},
    h("tr", {}, ...COLUMNS.map(([name, title]) => h("th", { scope: "col", title }, name))),
  );
  const table = h(
    "table",
    { class: "cx-table" },
    h("caption", { class: "sx-unseen" }, "Methods on the same prompts"),
    h("colgroup", {}, ...WIDTHS.map((width) => h("col", { style: `width:${width}%` }))),
    head,
    body,
  );
  const memory = h("p", { class: "cx-note" });
  element.append(
    h(
      "div",
      { class: "cx-scroll", tabindex: 0, role: "region", "aria-label": "Table of methods" },
      table,
    ),
    memory,
  );

  function update() {
    const { report, prompts } = page.comparison;
    for (const tool of tools.querySelectorAll("button")) tool.disabled = !report?.prompts;
    note.textContent = report
      ? hint(report, prompts.length)
      : "every method races plain decoding on the same prompts";
    replace(body, ...page.chosen.map((name) => row(page, name)));
    memory.textContent = [report?.heads_memory, report?.floor?.sentence].filter(Boolean).join(" ");
  }
  return { element, update };
}

/**
 * @param {Report} report
 * @param {number} asked
 */
function hint(report, asked) {
  const done =
    report.prompts === asked
      ? plural(asked, "prompt")
      : `${report.prompts} of ${plural(asked, "prompt")}`;
  return [
    `measured: ${done}`,
    `up to ${plural(report.max_new_tokens, "token")} each`,
    "greedy",
    `tree ${report.tree}`,
    isFitted(report.tree)
      ? "heads' trees fit this machine, the other methods' parameters are untuned defaults"
      : "no method's parameters were fitted to this machine",
    report.model,
    report.backend,
    report.machine || report.device,
    report.created.slice(0, 10),
  ].join(" · ");
}

/**
 * @param {ComparePage} page
 * @param {string} name
 */
function row(page, name) {
  const found = page.setup.methods.find((method) => method.name === name);
  const title = [found?.explanation, found?.source && `(${found.source})`]
    .filter(Boolean)
    .join(" ");
  const heading = h(
    "th",
    { scope: "row", title },
    h("span", { class: "cx-name" }, badge(name), name, untuned(name, page)),
  );
  const reason = page.comparison.report?.unavailable[name];
  if (reason) {
    return h(
      "tr",
      { class: "is-off" },
      heading,
      h("td", { colspan: COLUMNS.length - 1, class: "cx-reason" }, `not run: ${reason}`),
    );
  }
  const nothing = () => COLUMNS.slice(1).map(() => h("td", { class: "sx-soft" }, NONE));
  return h("tr", { "data-method": name }, heading, ...(cells(page, name) ?? nothing()));
}

/**
 * What a method's speed may owe to its parameters: only trees are fitted to the machine.
 * @param {string} name
 * @param {ComparePage} page
 */
function untuned(name, { comparison: { report } }) {
  if (isTuned(name, report?.tree ?? "auto")) return null;
  const title = "Its parameters were not fitted to this machine";
  return h("small", { class: "cx-untuned", title }, "untuned");
}
