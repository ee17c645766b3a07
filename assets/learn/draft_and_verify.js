// Chapter 2: four calculators about drafting with a small model, one at a time.

import { depthView } from "./draft_depth.js";
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
 * @property {{ name: string, memory: number }[]} gpus
 * @property {number} link
 * @property {number} latency
 * @property {Parameters<Tools["question"]>[0]} question
 */

/** @type {[key: string, name: string, view: (data: Data, tools: Tools) => HTMLElement][]} */
const VIEWS = [
  ["formula", "Does it pay?", formulaView],
  ["depth", "How deep a draft?", depthView],
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
