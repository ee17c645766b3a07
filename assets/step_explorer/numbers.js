// How figures are written: thousands grouped, as many digits as mean something.

export const NONE = "–";

/** @param {number} value */
export const count = (value) => String(value).replace(/\B(?=(\d{3})+$)/g, "\u202f");

/**
 * @param {number} value
 * @param {string} noun
 * @param {string} many
 */
export const plural = (value, noun, many = `${noun}s`) =>
  `${count(value)} ${value === 1 ? noun : many}`;

/** @param {number | null} value */
export const ratio = (value) => (value === null ? NONE : value.toFixed(2));

/** @param {number | null} value */
export function rate(value) {
  if (value === null) return NONE;
  return value < 100 ? value.toFixed(1) : count(Math.round(value));
}

/** @param {number | null} value */
export function milliseconds(value) {
  if (value === null) return NONE;
  return value > 0 && value < 0.1 ? value.toFixed(2) : value.toFixed(1);
}

/**
 * 0.62; smaller than a hundredth with two digits; never a false zero or one.
 * @param {number} value
 */
export function probability(value) {
  if (value === 0) return "≈ 0"; // recorded to six decimals
  if (value === 1) return "1";
  if (value >= 0.995) return "over 0.99";
  if (value < 0.0001) return "under 0.0001";
  return value >= 0.01 ? value.toFixed(2) : String(Number(value.toPrecision(2)));
}

/**
 * For a column of figures: signs instead of words.
 * @param {number} value
 */
export const inColumn = (value) => probability(value).replace("over", ">").replace("under", "<");

/**
 * For narrow places: .62, or ‹.01.
 * @param {number} value
 */
export function shortProbability(value) {
  if (value >= 0.995) return value === 1 ? "1" : "›.99";
  return value < 0.01 ? "‹.01" : value.toFixed(2).slice(1);
}

/** @param {number | null} value */
export const percent = (value) => (value === null ? NONE : `${Math.round(100 * value)} %`);

/** @param {number} value */
export function ordinal(value) {
  const teens = value % 100;
  const suffix = teens >= 11 && teens <= 13 ? "th" : { 1: "st", 2: "nd", 3: "rd" }[value % 10];
  return `${count(value)}${suffix ?? "th"}`;
}
