// How widgets write figures: those of the step explorer, and sizes and rates beside them.

import { count } from "../step_explorer/numbers.js";

export {
  count,
  inColumn,
  milliseconds,
  percent,
  plural,
  probability,
  rate,
  ratio,
} from "../step_explorer/numbers.js";

/** @type {[number, string][]} */
const UNITS = [
  [1e15, "P"],
  [1e12, "T"],
  [1e9, "G"],
  [1e6, "M"],
  [1e3, "K"],
];

/**
 * So many significant digits, without an exponent: 0.0123, 4.57, 313, 12 300.
 * @param {number} value
 * @param {number} digits
 */
export function significant(value, digits = 3) {
  if (value === 0 || !Number.isFinite(value)) return String(value);
  const rounded = Number(value.toPrecision(digits));
  if (Math.abs(rounded) >= 1000) return count(Math.round(rounded));
  const decimals = Math.max(0, digits - 1 - Math.floor(Math.log10(Math.abs(rounded))));
  return rounded.toFixed(Math.min(decimals, 8));
}

/**
 * 140 GB, 3.35 TB/s, 312 TFLOP/s: powers of ten.
 * @param {number} value
 * @param {string} unit
 */
export function scaled(value, unit) {
  const [size, prefix] = UNITS.find(([least]) => value >= 0.9995 * least) ?? [1, ""];
  const digits = value / size >= 100 ? 0 : value / size >= 10 ? 1 : 2;
  const shown = (value / size).toFixed(digits);
  return `${digits ? shown.replace(/\.?0+$/, "") : shown}\u202f${prefix}${unit}`;
}

/** @param {number} value */
export const size = (value) => scaled(value, "B");

/**
 * A share with as many digits as say something: 99.7 %, 12 %, 0.4 %.
 * @param {number} value
 */
export function share(value) {
  const shown = 100 * value;
  const digits = shown > 0 && (shown < 10 || (shown > 90 && shown < 100)) ? 1 : 0;
  return `${shown.toFixed(digits)}\u202f%`;
}
