// The formulas of explorer/analysis/formulas.py that a slider moves; tests/learn compares them.

/** Bytes of N parameters. @param {number} parameters @param {number} bits */
export const weightBytes = (parameters, bits) => (parameters * bits) / 8;

/** FLOP per byte of weights. @param {number} bits @param {number} rows */
export const arithmeticIntensity = (bits, rows) => (2 * rows) / (bits / 8);

/**
 * Times of a pass in seconds: reading, computing, and the longer of both.
 * @param {number} parameters
 * @param {number} bits
 * @param {number} bandwidth bytes a second
 * @param {number} flops FLOP a second
 * @param {number} rows
 */
export function passSeconds(parameters, bits, bandwidth, flops, rows) {
  const read = weightBytes(parameters, bits) / bandwidth;
  const compute = (2 * parameters * rows) / flops;
  return { read, compute, whole: Math.max(read, compute) };
}

/** Rows at which memory stops being the limit. @param {number} bits @param {number} bandwidth @param {number} flops */
export const freeRows = (bits, bandwidth, flops) => ((flops / bandwidth) * bits) / 16;

/**
 * E(α, K): tokens per step of a chain of K drafts.
 * @param {number} alpha
 * @param {number} k
 */
export function expectedTokens(alpha, k) {
  let total = 1;
  for (let i = 0; i < k; i++) total = 1 + alpha * total;
  return total;
}

/**
 * S′, and S where a pass over K + 1 rows costs 1.
 * @param {number} alpha
 * @param {number} k
 * @param {number} ratio T_draft/T_target
 * @param {number} cost C(K + 1)
 */
export const speedupAtCost = (alpha, k, ratio, cost) =>
  expectedTokens(alpha, k) / (cost + k * ratio);

/**
 * Bytes of keys and values of 16 bits.
 * @param {{ layers: number, kv_heads: number, head_size: number }} model
 * @param {number} context
 * @param {number} batch
 */
export const kvCacheBytes = ({ layers, kv_heads, head_size }, context, batch) =>
  4 * layers * kv_heads * head_size * context * batch;

/**
 * Seconds of a pass split over GPUs: reading, and two all-reduces a layer.
 * @param {{ layers: number, width: number }} model
 * @param {number} read bytes
 * @param {number} gpus
 * @param {{ memory: number, link: number, latency: number }} machine bytes a second, and seconds
 */
export function tensorParallelSeconds({ layers, width }, read, gpus, { memory, link, latency }) {
  const once = gpus > 1 ? latency + (((2 * (gpus - 1)) / gpus) * 2 * width) / link : 0;
  const [reading, summing] = [read / gpus / memory, 2 * layers * once];
  return { reading, summing, whole: reading + summing };
}

/**
 * Parameters of Medusa heads: blocks and projections; `projected`: rows of all projections.
 * @param {number} hidden
 * @param {number} heads
 * @param {number} blocks
 * @param {number} projected
 */
export const headParameters = (hidden, heads, blocks, projected) =>
  heads * blocks * (hidden * hidden + hidden) + projected * hidden;

/** Leaves of a tree with so many children at each depth: Π s_i. @param {number[]} widths */
export const pathCount = (widths) => widths.reduce((product, width) => product * width, 1);

/** Its nodes without the root: Σ_d Π_{i ≤ d} s_i. @param {number[]} widths */
export const nodeCount = (widths) =>
  widths.reduce((sum, _, depth) => sum + pathCount(widths.slice(0, depth + 1)), 0);
