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
