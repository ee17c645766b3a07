// Chapter 2: calculators and pictures about drafting with a small model, one at a time.

import { depthView } from "./draft_depth.js";
import { fitView } from "./draft_fit.js";
import { formulaView } from "./draft_formula.js";
import { linksView } from "./draft_links.js";
import { memoryView } from "./draft_memory.js";
import { viewsOf } from "./views.js";

/**
 * @import { Tools } from "./kit.js"
 * @import { Trace } from "../step_explorer/trace.js"
 * @typedef {{ name: string, parameters: number, layers: number, width: number, kv_heads: number, head_size: number, source: string }} Llm
 * @typedef {{ acceptance: number, tokens_per_step: number, steps: number }} Counted
 * @typedef {Counted & { layers: number, ratio: number, by_kind: Record<string, Counted> }} Draft
 * @typedef {{ name: string, source: "timed" | "counted", acceptance: number | null,
 *   tokens_per_step: number, speedup: number }} Fit
 * @typedef {object} Drafts
 * @property {string} model
 * @property {number} model_layers
 * @property {string} backend
 * @property {string} measured
 * @property {number} prompts
 * @property {number} new_tokens
 * @property {number} draft_tokens
 * @property {Draft[]} drafts
 *
 * @typedef {object} Data
 * @property {number} most
 * @property {{ alpha: number, k: number, ratio: number }} start
 * @property {{ name: string, measured: string, cost: number[] }[]} costs
 * @property {Llm[]} models
 * @property {number} context
 * @property {Drafts} drafts
 * @property {{ fits: Fit[], step_cost: number, costs: { verify: number, draft: number, rest: number },
 *   break_even: number | null, timed: { speedup: number, half_width: number, tokens_per_step: number,
 *   prompts: number }, machine: string }} fit
 * @property {{ name: string, memory: number }[]} gpus
 * @property {number} link
 * @property {number} latency
 * @property {Parameters<Tools["question"]>[0]} question
 */

/** @type {[key: string, name: string, view: (data: Data, tools: Tools) => HTMLElement][]} */
const VIEWS = [
  ["formula", "Does it pay?", formulaView],
  ["depth", "How deep a draft?", depthView],
  ["fit", "What if it does not fit?", fitView],
  ["memory", "What memory?", memoryView],
  ["links", "On many GPUs?", linksView],
];

/**
 * @param {HTMLElement} place
 * @param {Data} data
 * @param {Tools} tools
 */
export function mount(place, data, tools) {
  place.append(...viewsOf(VIEWS, data, tools));
}

/**
 * A step of a run in which drafts were judged and none was taken.
 * @param {Trace} trace
 */
export function seenIn(trace) {
  const found = trace.steps.findIndex(
    ({ token_ids, accepted }) => token_ids.length > 1 && accepted.length === 1,
  );
  return found < 0 ? null : found;
}
