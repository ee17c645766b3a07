// Figures over a whole run, from its records alone. How sure the speedup is follows
// explorer/analysis/speedup.py; a test compares the two.

import { median, stepMs } from "./trace.js";

/** @import { Lane, Trace } from "./trace.js" */

/** @typedef {{ tokens: number[], times: number[] }} Samples */

const MIN_RIVAL_TOKENS = 16; // fewer are too few for a measured figure
const MAX_BLOCKS = 16;

/**
 * Both lanes' speeds, the speedup, the half-width of its 95 % interval; null: not measured.
 * @param {Trace} trace
 */
export function raceFigures(trace) {
  const [lane, rival] = [samplesOf(trace), samplesOf(trace.rival)];
  const [ours, theirs] = [laneFigures(lane), laneFigures(rival)];
  const speedup =
    ours.perSecond !== null && theirs.perSecond ? ours.perSecond / theirs.perSecond : null;
  const relative = relativeHalfWidth(lane, rival);
  return {
    lane: ours,
    rival: theirs,
    speedup,
    half_width: speedup === null || relative === null ? null : speedup * relative,
    estimate: sum(rival.tokens) < MIN_RIVAL_TOKENS,
  };
}

/** @param {Lane | null} lane */
function samplesOf(lane) {
  const steps = lane?.steps ?? [];
  return { tokens: steps.map((step) => step.emitted.length), times: steps.map(stepMs) };
}

/** @param {Samples} samples */
function laneFigures(samples) {
  const { tokens } = samples;
  return {
    perSecond: perSecond(samples),
    perStep: tokens.length ? sum(tokens) / tokens.length : null,
  };
}

/**
 * Per depth from 1: steps that accepted there, and steps that first rejected there.
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
  return depths.map((d) => ({ ...d, rate: rateOf(d.accepted, d.accepted + d.rejected) }));
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
    rows += step.token_ids.length;
    vain += step.token_ids.length - step.emitted.length;
  }
  return { rows, vain, share: rateOf(vain, rows) };
}

/**
 * Tokens per step that a tree needs on this machine: its median step over a plain one.
 * @param {Trace} trace
 * @param {number} tree
 */
export function breakEven(trace, tree) {
  const times = trace.steps.filter((step) => step.tree === tree).map(stepMs);
  const usual = median(times);
  return trace.rival?.usualMs && usual !== null ? usual / trace.rival.usualMs : null;
}

/** @param {number[]} values */
const sum = (values) => values.reduce((total, value) => total + value, 0);
/**
 * @param {number} part
 * @param {number} whole
 */
const rateOf = (part, whole) => (whole ? part / whole : null);

/** @param {Samples} lane */
function perSecond({ tokens, times }) {
  const total = sum(times);
  return total > 0 ? (1000 * sum(tokens)) / total : null;
}

/**
 * Delta method on blocks of neighbouring steps, Student's t with Welch–Satterthwaite freedom.
 * @param {Samples} lane
 * @param {Samples} rival
 */
function relativeHalfWidth(lane, rival) {
  const parts = [lane, rival].map(logRateVariance).filter((part) => part !== null);
  if (parts.length < 2) return null;
  const total = sum(parts.map((part) => part.variance));
  if (total === 0) return 0;
  const freedom = total ** 2 / sum(parts.map((part) => part.variance ** 2 / part.freedom));
  return studentQuantile(freedom) * Math.sqrt(total);
}

/** @param {Samples} lane */
function logRateVariance({ tokens, times }) {
  const steps = tokens.length;
  const [allTokens, allTimes] = [sum(tokens), sum(times)];
  if (steps < 2 || allTimes <= 0 || allTokens <= 0) return null;
  const blocks = Math.min(MAX_BLOCKS, Math.max(2, Math.floor(steps / 4)));
  const [size, longer] = [Math.floor(steps / blocks), steps % blocks];
  let [at, squares] = [0, 0];
  for (let block = 0; block < blocks; block += 1) {
    let influence = 0;
    for (const end = at + size + (block < longer ? 1 : 0); at < end; at += 1) {
      influence += (tokens[at] * steps) / allTokens - (times[at] * steps) / allTimes;
    }
    squares += influence ** 2;
  }
  return { variance: ((blocks / (blocks - 1)) * squares) / steps ** 2, freedom: blocks - 1 };
}

/**
 * The 97.5 % quantile of Student's t, by bisection on its distribution function.
 * @param {number} freedom
 */
export function studentQuantile(freedom) {
  let [low, high] = [0, 1000];
  for (let i = 0; i < 60; i += 1) {
    const middle = (low + high) / 2;
    const tail = incompleteBeta(freedom / (freedom + middle ** 2), freedom / 2, 0.5) / 2;
    if (tail > 0.025) low = middle;
    else high = middle;
  }
  return low;
}

/**
 * I_x(a, b) by Lentz's continued fraction (Numerical Recipes, section 6.4).
 * @param {number} x
 * @param {number} a
 * @param {number} b
 * @returns {number}
 */
function incompleteBeta(x, a, b) {
  if (x <= 0 || x >= 1) return x <= 0 ? 0 : 1;
  if (x > (a + 1) / (a + b + 2)) return 1 - incompleteBeta(1 - x, b, a);
  const front = Math.exp(
    logGamma(a + b) - logGamma(a) - logGamma(b) + a * Math.log(x) + b * Math.log(1 - x),
  );
  let [c, d] = [1, 1 / (1 - ((a + b) * x) / (a + 1))];
  let value = d;
  for (let m = 1; m < 300; m += 1) {
    const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / (1 + even * d);
    c = 1 + even / c;
    value *= d * c;
    const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / (1 + odd * d);
    c = 1 + odd / c;
    value *= d * c;
    if (Math.abs(d * c - 1) < 1e-12) break;
  }
  return (front * value) / a;
}

/**
 * Stirling's series, after shifting the argument up to where it is exact enough.
 * @param {number} x
 */
function logGamma(x) {
  let shift = 0;
  while (x < 10) {
    shift += Math.log(x);
    x += 1;
  }
  const inverse = 1 / x ** 2;
  const series = (1 / 12 - inverse * (1 / 360 - inverse / 1260)) / x;
  return (x - 0.5) * Math.log(x) - x + 0.5 * Math.log(2 * Math.PI) + series - shift;
}
