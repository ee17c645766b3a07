// Where the nodes of a candidate tree stand: root at the left, a line of text for each leaf.
// A node stands on the line of its first child, so the same tree looks the same in every step.

/**
 * @import { Step } from "../../types/records.js"
 * @import { Shape } from "../../types/page.js"
 */

/** @typedef {{ column: number, line: number }} Place */

export const MANY_NODES = 96; // from here on, what was never reached is folded away

/**
 * Rows whose children are folded away: rejected ones of a large tree, unless opened by hand.
 * @param {Step} step
 * @param {Shape} shape
 * @param {Set<number>} opened
 * @returns {Set<number>}
 */
export function foldedRows(step, shape, opened) {
  const folded = new Set();
  if (step.token_ids.length <= MANY_NODES) return folded;
  step.verdicts.forEach((verdict, row) => {
    if (verdict === "rejected" && shape.children[row].length && !opened.has(row)) folded.add(row);
  });
  return folded;
}

/**
 * Per visible row its column and line. Iterative: trees may be 512 deep.
 * @param {Shape} shape
 * @param {Set<number>} folded
 */
export function tidy(shape, folded) {
  /** @type {Map<number, Place>} */
  const place = new Map();
  /** @type {[row: number, line: number][]} */
  const pending = [];
  const stack = [0];
  let lines = 0;
  for (let row = stack.pop(); row !== undefined; row = stack.pop()) {
    const children = folded.has(row) ? [] : shape.children[row];
    if (children.length) {
      pending.push([row, lines]);
      for (let i = children.length - 1; i >= 0; i -= 1) stack.push(children[i]);
    } else {
      place.set(row, { column: shape.depths[row], line: lines });
      lines += 1;
    }
  }
  for (const [row, line] of pending) place.set(row, { column: shape.depths[row], line });
  return { place, lines };
}

/**
 * How many rows lie below a row.
 * @param {Shape} shape
 * @param {number} row
 */
export function descendants(shape, row) {
  const below = [...shape.children[row]];
  for (const one of below) below.push(...shape.children[one]); // grows while it is walked
  return below.length;
}
