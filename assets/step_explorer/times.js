// Times of steps.

/** @import { Timings } from "../../types/records.js" */

/**
 * A step's time on its lane's clock: everything but recording.
 * @param {{ timings: Timings }} step
 */
export function stepMs(step) {
  const { heads, draft, verify, accept, commit } = step.timings;
  return heads + draft + verify + accept + commit;
}

/** @param {number[]} values */
export function median(values) {
  if (values.length === 0) return null;
  const sorted = Float64Array.from(values).sort();
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/**
 * How many of the ascending times are at most `seconds` (with room for rounding).
 * @param {number[]} times
 * @param {number} seconds
 */
export function finishedBy(times, seconds) {
  let [low, high] = [0, times.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle] <= seconds + 1e-9) low = middle + 1;
    else high = middle;
  }
  return low;
}
