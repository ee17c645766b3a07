// A recorded step as it would have been with fewer guesses of each head.

import { Trace } from "../step_explorer/trace.js";

/** @import { Step } from "../../types/records.js" */

/**
 * A run of this one step, with the guesses of rank below `width` only. For greedy acceptance: what
 * follows a row is then recorded for every row.
 * @param {Trace} trace
 * @param {number} index
 * @param {number} width
 */
export function cutStep(trace, index, width) {
  const step = trace.steps[index];
  const { paths } = trace.shape(step);
  const kept = [0, ...paths.flatMap((path, i) => (Math.max(...path) < width ? [i + 1] : []))];
  const accepted = step.accepted.filter((row) => kept.includes(row));
  const last = accepted.at(-1) ?? 0;
  const alone = new Trace();
  for (const [id, piece] of trace.pieces) alone.addPiece(id, piece);
  if (trace.header) alone.start(trace.header);
  alone.addTree({ name: `width ${width}`, paths: kept.slice(1).map((row) => paths[row - 1]) });
  alone.addStep({
    ...picked(step, kept),
    index: 0,
    tree: 0,
    accepted: accepted.map((row) => kept.indexOf(row)),
    emitted: accepted.map((row) => step.token_ids[row]),
    bonus: step.choices[last] ?? step.bonus,
    positions: [],
  });
  return alone;
}

/**
 * The step with some of its rows.
 * @param {Step} step
 * @param {number[]} rows
 * @returns {Step}
 */
function picked(step, rows) {
  /** @type {<T>(all: T[]) => T[]} */
  const of = (all) => rows.map((row) => all[row]);
  return {
    ...step,
    token_ids: of(step.token_ids),
    draft_probs: of(step.draft_probs),
    joint_probs: of(step.joint_probs),
    base_probs: of(step.base_probs),
    base_ranks: of(step.base_ranks),
    choices: of(step.choices),
    verdicts: of(step.verdicts),
    base_top: of(step.base_top),
    reasons: step.reasons ? of(step.reasons) : null,
  };
}
