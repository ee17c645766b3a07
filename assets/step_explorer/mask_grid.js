// Where the mask's cells stand: a few columns for the prefix, one for each row of the pass.

import { count } from "./numbers.js";

/**
 * @import { Explorer } from "./main.js"
 * @import { Picture } from "./picture.js"
 * @import { View } from "./verdicts.js"
 * @import { AttentionHead } from "../../types/records.js"
 */

export const LABEL = 9; // characters of a token's label
const CHARACTER = 6.2;
const [MIN_CELL, MAX_CELL] = [3, 30];
const LABELLED = 10; // cells this large have room for labels
const PREFIX_SHOWN = 24; // tokens of the expanded prefix
const APART = 5; // pixels between what is summed up or set apart, and the rest

/**
 * @typedef {{ kind: "sum", tokens: number }} Sum of this many tokens of the prefix
 * @typedef {object} Single a token of the prefix with a column of its own
 * @property {"first" | "token"} kind
 * @property {number} at its position in the text
 * @property {number} id
 * @property {number} slot its place among the slots of the head; 0 while none is on view
 * @typedef {Sum | Single} Column
 *
 * @typedef {ReturnType<typeof gridOf>} Grid
 *
 * @typedef {object} Place what lies at a point: a column of the prefix, or a row of the pass
 * @property {number} row
 * @property {Column} [column]
 * @property {number} [i] of the column
 * @property {number} [seen]
 */

/**
 * The prefix's columns, left to right.
 * @param {Pick<Explorer, "state">} app
 * @param {View} view
 * @param {AttentionHead | null} head
 * @returns {Column[]}
 */
export function prefixColumns(app, view, head) {
  const length = view.step.context_length;
  const ids = view.trace.prefixIds(view.step);
  /** @type {(at: number, slot: number, kind?: Single["kind"]) => Single} */
  const token = (at, slot, kind = "token") => ({ kind, at, slot, id: ids[at] });
  /** @type {(tokens: number) => Sum[]} */
  const sum = (tokens) => (tokens > 0 ? [{ kind: "sum", tokens }] : []);
  if (app.state.form !== "weights") {
    if (!app.state.prefixOpen) return sum(length);
    const shown = ids.slice(-PREFIX_SHOWN).map((id, i, all) => single(length - all.length + i, id));
    return [...sum(length - shown.length), ...shown];
  }
  const first = token(0, 0, "first");
  if (!app.state.prefixOpen || !head) return [first, ...sum(length - 1)];
  const listed = head.slots.slice(1).map((at, i) => token(at, i + 1));
  return [first, ...sum(length - 1 - listed.length), ...listed];
}

/** @type {(at: number, id: number) => Single} */
const single = (at, id) => ({ kind: "token", at, slot: 0, id });

/**
 * `labelled`: rows have room for labels; `named`: columns have, too.
 * @param {Pick<Explorer, "unit">} app
 * @param {Pick<Picture, "size" | "zoom">} picture
 * @param {View} view
 * @param {Column[]} columns
 */
export function gridOf(app, picture, view, columns) {
  const { unit } = app;
  const { width, height } = picture.size;
  const before = columns.length;
  const open = columns.some(({ kind }) => kind === "token");
  const apart = columns.filter(({ kind }) => kind !== "token").length;
  const label = (LABEL + 2) * CHARACTER * unit;
  const last = count(view.step.context_length + Math.max(...view.shape.depths));
  const numbers = Math.max(30, 7 * last.length + 12) * unit; // room for positions
  const [left, topLabel] = [label + numbers + 4 * unit, label * 1.06];
  const across = width - left - 14 - APART;
  const room = Math.min((height - topLabel - 4) / view.rows, across / (view.rows + before));
  const least = LABELLED * unit;
  // Few rows share the room; many are drawn small, without labels, so that the pattern shows.
  // An expanded prefix makes the picture wide: it scrolls rather than shrinks.
  const tall =
    (height - topLabel) / view.rows >= least ? 1.3 * least : (height - 16 * unit - 4) / view.rows;
  const smallest = Math.max(MIN_CELL, open ? tall : 0);
  const labelled = Math.max(smallest, room * picture.zoom) >= least;
  const top = labelled ? topLabel : 16 * unit;
  const fitting = labelled
    ? room
    : Math.min((height - top - 4) / view.rows, across / (view.rows + before));
  const cell = Math.max(smallest, Math.min(MAX_CELL * unit, fitting) * picture.zoom);
  const prefixX = (/** @type {number} */ i) => left + i * cell + (i >= apart ? APART : 0);
  const x = (/** @type {number} */ row) => left + (before + row) * cell + 2 * APART;
  return {
    cell,
    numbers,
    left,
    top,
    labelled: cell >= least,
    named: labelled,
    unit,
    columns,
    prefixX,
    x,
    size: Math.max(1, cell - (cell > 7 ? 1.2 : 0.4)),
    y: (/** @type {number} */ row) => top + row * cell,
    width: x(view.rows) + 6,
    height: top + view.rows * cell + 4,
  };
}

/**
 * What lies at a point of the picture; null outside.
 * @param {Grid} grid
 * @param {View} view
 * @param {number} x
 * @param {number} y
 * @returns {Place | null}
 */
export function placeAt(grid, view, x, y) {
  const row = Math.floor((y - grid.top) / grid.cell);
  if (row < 0 || row >= view.rows) return null;
  const seen = Math.floor((x - grid.x(0)) / grid.cell);
  if (seen >= 0 && seen < view.rows) return { row, seen };
  const i = grid.columns.findIndex(
    (_, at) => x >= grid.prefixX(at) && x < grid.prefixX(at) + grid.cell,
  );
  return i < 0 ? { row } : { row, column: grid.columns[i], i };
}
