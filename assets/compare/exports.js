// The figures as files, and the table as Markdown.

import { download } from "../step_explorer/dom.js";
import { NONE, percent, rate, ratio } from "../step_explorer/numbers.js";
import { isFitted, isTuned } from "./methods.js";

/**
 * @import { ComparePage } from "./main.js"
 * @import { MethodFigures, Prediction, Shares } from "../../types/records.js"
 * @import { Report } from "../../types/page.js"
 */

/** @param {ComparePage} page */
export const saveJson = (page) =>
  download(
    name("json"),
    new Blob([JSON.stringify(record(page), null, 2)], { type: "application/json" }),
  );

/** @param {ComparePage} page */
export const saveCsv = ({ comparison: { report } }) =>
  report && download(name("csv"), new Blob([csv(report)], { type: "text/csv" }));

/**
 * All that the server sent: the report, as `bench --json` has it, with the races and prompts.
 * @param {Pick<ComparePage, "comparison">} page
 */
export function record({ comparison: { report, races, prompts } }) {
  return { ...report, races, asked_prompts: prompts };
}

/**
 * Copy the table; the button says whether that worked.
 * @param {ComparePage} page
 * @param {HTMLElement} button
 */
export async function copyMarkdown(page, button) {
  const before = button.textContent;
  try {
    if (page.comparison.report) {
      await navigator.clipboard.writeText(markdown(page.comparison.report));
    }
    button.textContent = "Copied";
  } catch {
    button.textContent = "Not allowed here";
  }
  setTimeout(() => {
    button.textContent = before;
  }, 1500);
}

/** @type {(keyof MethodFigures)[]} */
const FIGURES = [
  "tokens",
  "steps",
  "seconds",
  "tokens_per_second",
  "tokens_per_step",
  "step_ms",
  "speedup",
];
/** @type {(keyof Prediction)[]} */
const PREDICTED = [
  "alpha",
  "drafted",
  "rows",
  "cost",
  "draft",
  "rest",
  "tokens_per_step",
  "product",
  "measured_tokens_per_step",
  "speedup_idealised",
  "error_idealised",
  "speedup_at_cost",
  "error_at_cost",
  "measured_speedup",
  "pays_as_published",
  "pays_corrected",
];
/** @type {(keyof Shares)[]} */
const SHARES = ["heads", "draft", "verify", "accept", "commit"];

/**
 * One line a method, every figure as it was measured.
 * @param {Report} report
 */
export function csv(report) {
  const head = [
    "method",
    ...FIGURES,
    "half_width",
    "total_speedup",
    "plain_tokens_per_second",
    ...SHARES.map((part) => `share_${part}`),
    "acceptance_by_depth",
    "extra_megabytes",
    "extra_share",
    "identical_prompts",
    "prompts",
    "machine",
    "created",
    "parameters",
    ...PREDICTED.map((field) => `predicted_${field}`),
  ];
  const lines = Object.entries(report.methods).map(([method, figures]) => {
    const details = report.details[method];
    return [
      method,
      ...FIGURES.map((field) => figures[field]),
      details?.half_width,
      details?.total_speedup,
      details?.plain_tokens_per_second,
      ...SHARES.map((part) => figures.shares?.[part]),
      details?.acceptance.map(({ rate: value }) => value ?? "").join(" "),
      details?.memory?.megabytes,
      details?.memory?.share,
      details?.identical_prompts,
      report.prompts,
      report.machine || report.device,
      report.created,
      isTuned(method, report.tree) ? "fitted to the machine" : "untuned",
      ...PREDICTED.map((field) => details?.prediction?.[field]),
    ];
  });
  return [head, ...lines].map((line) => `${line.map(quoted).join(",")}\r\n`).join("");
}

/** @param {unknown} value */
const quoted = (value) => {
  const text = String(value ?? "");
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};

/** @param {Report} report */
export function markdown(report) {
  const head = [
    "method",
    "tokens/s",
    "plain",
    "speedup",
    "total",
    "tokens per step",
    "acceptance by depth",
    "extra memory",
    "same text as plain",
  ];
  const rows = Object.entries(report.methods).map(([method, figures]) =>
    markdownRow(method, figures, report),
  );
  const {
    model,
    backend,
    device,
    machine,
    created,
    prompts,
    max_new_tokens: tokens,
    tree,
  } = report;
  const conditions = [
    `${model}, ${backend} on ${machine || device}, ${created.slice(0, 10)}: ${prompts} prompts, up to ${tokens} tokens each, greedy`,
    isFitted(tree)
      ? `tree ${tree} for heads, the other methods' parameters at their untuned defaults`
      : `tree ${tree} for heads, no method's parameters fitted to the machine`,
    "speedup: typical prompt, the geometric mean over the prompts ± a 95 % interval; total: all steps together, tokens/s over plain's",
    "acceptance by depth: of the steps that reached a depth.",
  ].join(", ");
  const lines = [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`);
  return [...lines, "", report.fastest, "", conditions, ""].join("\n");
}

/**
 * @param {string} method
 * @param {MethodFigures} figures
 * @param {Report} report
 */
function markdownRow(method, figures, report) {
  const details = report.details[method];
  if (!details)
    return [
      `\`${method}\``,
      rate(figures.tokens_per_second),
      NONE,
      "1",
      "1",
      ratio(figures.tokens_per_step),
      NONE,
      NONE,
      "the baseline",
    ];
  const half_width = details.half_width === null ? "" : ` ± ${ratio(details.half_width)}`;
  return [
    `\`${method}\``,
    rate(figures.tokens_per_second),
    rate(details.plain_tokens_per_second),
    `${ratio(figures.speedup)}×${half_width}`,
    `${ratio(details.total_speedup ?? null)}×`,
    ratio(figures.tokens_per_step),
    details.acceptance.map(({ rate: value }) => percent(value)).join(" ") || NONE,
    details.memory
      ? `${details.memory.megabytes.toFixed(1)} MB (${(100 * details.memory.share).toFixed(1)} %)`
      : NONE,
    `${details.identical_prompts} of ${report.prompts}`,
  ];
}

/** @param {string} kind */
const name = (kind) =>
  `medusa-comparison-${new Date().toISOString().slice(0, 19).replace(/[-:]/g, "").replace("T", "-")}.${kind}`;
