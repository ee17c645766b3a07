// One row a method: how fast, why, and at what price.

import { card } from "../step_explorer/card.js";
import { button, h, replace } from "../step_explorer/dom.js";
import { milliseconds, NONE, percent, plural, rate, ratio } from "../step_explorer/numbers.js";
import { copyMarkdown, saveCsv, saveJson } from "./exports.js";
import { badge, isFitted, isTuned } from "./methods.js";

/**
 * @import { Child } from "../step_explorer/dom.js"
 * @import { ComparePage } from "./main.js"
 * @import { DepthFigures, ExtraMemory, Shares } from "../../types/records.js"
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
const DEPTHS = 4;

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
  return h("tr", { "data-method": name }, heading, ...cells(page, name));
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

/**
 * @param {ComparePage} page
 * @param {string} name
 */
function cells(page, name) {
  const figures = page.figures(name);
  const details = page.details(name);
  const { report } = page.comparison;
  if (!figures?.tokens || !report)
    return COLUMNS.slice(1).map(() => h("td", { class: "sx-soft" }, NONE));
  const [speed, perStep, time, floor] = [
    cell("is-number", rate(figures.tokens_per_second)),
    cell("is-number", ratio(figures.tokens_per_step)),
    cell("", shares(figures.shares)),
    cell("is-number", overFloor(page.floor(name))),
  ];
  const memory = cell("is-number", megabytes(page, name, details?.memory));
  if (!details)
    return [
      speed,
      cell("is-number sx-soft", NONE),
      cell("is-number sx-soft", "1× baseline"),
      perStep,
      cell("", NONE),
      time,
      floor,
      memory,
      cell("sx-soft", "the baseline"),
    ];
  return [
    speed,
    cell("is-number sx-soft", rate(details.plain_tokens_per_second)),
    speedup(figures.speedup, details.half_width, details.total_speedup ?? null),
    perStep,
    cell("", ...depths(details.acceptance, figures.steps)),
    time,
    floor,
    memory,
    asPlain(page, name, details.identical_prompts, report.prompts),
  ];
}

/** @type {(kind: string, ...inside: Child[]) => HTMLElement} */
const cell = (kind, ...inside) => h("td", { class: kind || null }, ...inside);

/**
 * Faster and slower differ by sign and word, too.
 * @param {number | null} value
 * @param {number | null} half_width
 * @param {number | null} total of all steps together
 */
function speedup(value, half_width, total) {
  if (value === null) return cell("is-number sx-soft", NONE);
  const unsure = half_width === null || Math.abs(value - 1) < half_width;
  const kind = unsure ? "even" : value > 1 ? "fast" : "slow";
  const words = {
    even: "within the interval around plain",
    fast: "faster than plain",
    slow: "slower than plain",
  }[kind];
  const sign = { even: "≈", fast: "▲", slow: "▼" }[kind];
  const about =
    half_width === null ? "one prompt: no interval" : `95 % interval ± ${ratio(half_width)}`;
  return h(
    "td",
    { class: `is-number cx-speedup is-${kind}`, title: `${words}; ${about}` },
    h("span", { class: "cx-sign", "aria-label": words, role: "img" }, sign),
    h("strong", {}, `${ratio(value)}×`),
    h("small", {}, half_width === null ? "" : ` ± ${ratio(half_width)}`),
    total === null ? null : h("small", { class: "cx-total" }, ` total ${ratio(total)}×`),
  );
}

/**
 * @param {DepthFigures[]} acceptance
 * @param {number} steps
 */
function depths(acceptance, steps) {
  const shown = acceptance
    .flatMap((one) => (one.rate === null ? [] : [{ ...one, rate: one.rate }]))
    .slice(0, DEPTHS);
  if (!shown.length) return [h("span", { class: "sx-soft" }, "no drafts")];
  return [
    h(
      "span",
      { class: "cx-depths" },
      ...shown.map(({ depth, rate: value, accepted, first_rejections: rejected }) =>
        h(
          "span",
          {
            title: `depth ${depth}: ${accepted} of ${plural(accepted + rejected, "step")} that reached it accepted a node; of all ${plural(steps, "step")}, ${percent(accepted / steps)}`,
          },
          h("i", { style: `height:${Math.round(18 * value)}px` }),
          h("b", {}, percent(value)),
        ),
      ),
    ),
  ];
}

/**
 * The mean step and its floor.
 * @param {ReturnType<ComparePage["floor"]>} floor
 */
function overFloor(floor) {
  if (!floor?.step_over_floor) return NONE;
  const title = `A step takes ${milliseconds(floor.step_ms)} ms; it has to read ${Math.round(floor.bytes / 1e6)} MB, which takes ${milliseconds(floor.floor_ms)} ms`;
  return h("span", { title }, `${ratio(floor.step_over_floor)}×`);
}

/** @param {Shares | null} found */
function shares(found) {
  if (!found) return h("span", { class: "sx-soft" }, NONE);
  const parts = {
    draft: found.heads + found.draft,
    verify: found.verify,
    rest: found.accept + found.commit,
  };
  const words = `draft ${percent(parts.draft)} · verify ${percent(parts.verify)} · rest ${percent(parts.rest)}`;
  return h(
    "span",
    { class: "cx-shares", title: words },
    h(
      "span",
      { class: "cx-stack", "aria-hidden": "true" },
      ...Object.entries(parts).map(([name, share]) =>
        h("i", { class: `is-${name}`, style: `width:${100 * share}%` }),
      ),
    ),
    h("small", {}, words),
  );
}

/**
 * @param {ComparePage} page
 * @param {string} name
 * @param {ExtraMemory | null | undefined} memory
 */
function megabytes(page, name, memory) {
  const nothing = page.setup.methods.find((method) => method.name === name)?.memory;
  if (!memory?.share)
    return h("span", { class: "sx-soft", title: nothing }, name === "plain" ? "0 MB" : "≈ 0 MB");
  const title = `${memory.weights_bytes} bytes of weights and ${memory.cache_bytes} bytes of KV cache beside ${memory.base_bytes} bytes of the base model`;
  return h(
    "span",
    { title },
    `${memory.megabytes.toFixed(1)} MB`,
    h("small", {}, ` ${precise(memory.share)}`),
  );
}

/** @param {number} share */
const precise = (share) => `${(100 * share).toFixed(share < 0.1 ? 1 : 0)} %`;

/**
 * @param {ComparePage} page
 * @param {string} name
 * @param {number} identical
 * @param {number} prompts
 */
function asPlain(page, name, identical, prompts) {
  const text = `${identical} of ${prompts}`;
  const same = identical === prompts;
  const title = `${name}: ${same ? "every text was plain's" : "some texts differ"}; show what this run found, prompt by prompt`;
  return h(
    "td",
    {},
    button(`${text} · evidence`, title, () => page.showEvidence(name), { class: "cx-link" }),
  );
}
