// Counts over a whole run, from its records alone. What takes more than counting (speedup, its
// interval, break-even) is computed in explorer/analysis/speedup.py and comes with the trace.

import { extraRows } from "./trace.js";

/** @import { Trace } from "./trace.js" */

/**
 * Per depth from 1: steps that accepted there, and steps that first rejected there. `rate` is of the
 * steps that reached the depth, `share` of all steps with a pass (what vLLM prints per position).
 * @param {Trace} trace
 */
export function acceptanceByDepth(trace) {
  /** @type {{ accepted: number, rejected: number }[]} */
  const depths = [];
  for (const step of trace.steps) {
    const shape = trace.shape(step);
    const [taken, judged] = [new Set(), new Set()];
    step.verdicts.forEach((verdict, row) => {
      if (verdict === "accepted") taken.add(shape.depths[row]);
      if (verdict === "rejected") judged.add(shape.depths[row]);
    });
    for (const depth of shape.depths) {
      while (depths.length < depth) depths.push({ accepted: 0, rejected: 0 });
    }
    for (const depth of taken) depths[depth - 1].accepted += 1;
    for (const depth of judged) if (!taken.has(depth)) depths[depth - 1].rejected += 1;
  }
  const passes = trace.steps.filter((step) => step.base_top.length > 0).length;
  return depths.map((d) => ({
    ...d,
    rate: rateOf(d.accepted, d.accepted + d.rejected),
    share: rateOf(d.accepted, passes),
  }));
}

/**
 * Per rank of a head's guess: how many nodes were judged, and how many of them accepted.
 * @param {Trace} trace
 */
export function acceptanceByRank(trace) {
  /** @type {{ accepted: number, judged: number }[]} */
  const ranks = [];
  for (const step of trace.steps) {
    const shape = trace.shape(step);
    step.verdicts.forEach((verdict, row) => {
      if (verdict !== "accepted" && verdict !== "rejected") return;
      const rank = shape.ranks[row];
      while (ranks.length <= rank) ranks.push({ accepted: 0, judged: 0 });
      ranks[rank].judged += 1;
      ranks[rank].accepted += verdict === "accepted" ? 1 : 0;
    });
  }
  return ranks.map((r) => ({ ...r, rate: rateOf(r.accepted, r.judged) }));
}

/**
 * How many steps added 1, 2, 3 … tokens.
 * @param {Trace} trace
 */
export function lengthCounts(trace) {
  /** @type {number[]} */
  const counts = [];
  for (const { emitted } of trace.steps) {
    while (counts.length < emitted.length) counts.push(0);
    if (emitted.length) counts[emitted.length - 1] += 1;
  }
  return counts;
}

/**
 * Verified rows, and how many of them gave no token.
 * @param {Trace} trace
 */
export function vainRows(trace) {
  let [rows, vain] = [0, 0];
  for (const step of trace.steps) {
    if (step.base_top.length === 0) continue;
    const verified = step.token_ids.length + extraRows(step);
    rows += verified;
    vain += verified - step.emitted.length;
  }
  return { rows, vain, share: rateOf(vain, rows) };
}

/**
 * @param {number} part
 * @param {number} whole
 */
const rateOf = (part, whole) => (whole ? part / whole : null);
