// The cells of a method's row: speed, acceptance, where the time goes, memory, evidence.

import { button, h } from "../step_explorer/dom.js";
import { milliseconds, NONE, percent, plural, rate, ratio } from "../step_explorer/numbers.js";

/**
 * @import { Child } from "../step_explorer/dom.js"
 * @import { ComparePage } from "./main.js"
 * @import { DepthFigures, ExtraMemory, MethodDetails, Shares } from "../../types/records.js"
 * @import { Report } from "../../types/page.js"
 */

const DEPTHS = 4;

/**
 * The cells after a method's name; null where nothing was measured.
 * @param {ComparePage} page
 * @param {string} name
 */
export function cells(page, name) {
  const figures = page.figures(name);
  const details = page.details(name);
  const { report } = page.comparison;
  if (!figures?.tokens || !report) return null;
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
    speedup(figures.speedup, details, report.verdicts[name]),
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

/** @type {Record<Report["verdicts"][string], [sign: string, words: string]>} */
const VERDICTS = {
  even: ["≈", "within the interval around plain"],
  fast: ["▲", "faster than plain"],
  slow: ["▼", "slower than plain"],
};

/**
 * Faster and slower differ by sign and word, too.
 * @param {number | null} value
 * @param {MethodDetails} details
 * @param {Report["verdicts"][string] | undefined} verdict
 */
function speedup(value, { half_width, total_speedup: total = null }, verdict) {
  if (value === null || verdict === undefined) return cell("is-number sx-soft", NONE);
  const [sign, words] = VERDICTS[verdict];
  const about =
    half_width === null ? "one prompt: no interval" : `95 % interval ± ${ratio(half_width)}`;
  return h(
    "td",
    { class: `is-number cx-speedup is-${verdict}`, title: `${words}; ${about}` },
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
  const title = `${memory.weights_bytes} bytes of weights and ${memory.cache_bytes} bytes of KV cache, in addition to ${memory.base_bytes} bytes of the base model`;
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
