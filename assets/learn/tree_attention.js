// Chapter 6: build a mask by hand, and break the engine.

import { breakIt } from "./break_it.js";
import { builder } from "./mask_builder.js";
import { mountOwn } from "./own_run.js";

/**
 * @import { Tools } from "./kit.js"
 * @import { Trace } from "../step_explorer/trace.js"
 * @import { Fault, Report } from "./break_it.js"
 * @import { Puzzle } from "./mask_puzzle.js"
 * @typedef {object} Data
 * @property {Puzzle[]} puzzles
 * @property {Fault[]} faults
 * @property {Report[]} reports
 * @property {string} recorded
 * @property {Parameters<Tools["question"]>[0]} question
 */

/**
 * @param {HTMLElement} place
 * @param {Data} data
 * @param {Tools} tools
 */
export function mount(place, data, tools) {
  const fault = breakIt(data, tools); // its reports are of no visitor's run
  return mountOwn(place, "tree_attention", data, tools, (given, own) => {
    const views = { mask: builder(given.puzzles, tools, own !== null), fault };
    return drawn(views, given, tools);
  });
}

/**
 * @param {Record<string, HTMLElement>} views
 * @param {Data} data
 * @param {Tools} tools
 */
function drawn(views, data, tools) {
  const show = (/** @type {string} */ wanted) => {
    for (const [key, element] of Object.entries(views)) element.hidden = key !== wanted;
  };
  const chosen = tools.choice(
    "Try",
    [
      ["mask", "Build the mask"],
      ["fault", "Break it"],
    ],
    "mask",
    show,
  );
  show("mask");
  return [chosen.element, ...Object.values(views), tools.question(data.question)];
}

/**
 * The first step whose tree has branches.
 * @param {Trace} trace
 */
export function seenIn(trace) {
  const found = trace.steps.findIndex((step) =>
    trace.shape(step).children.some((children) => children.length > 1),
  );
  return found < 0 ? null : found;
}
