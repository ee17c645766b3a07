// What the mask says in words: of a row, of a cell under the pointer, of the whole picture.

import { weightsOf } from "./attention.js";
import { mostWeight, weightOn } from "./mask_cells.js";
import { count, percent, plural, probability } from "./numbers.js";

/**
 * @import { Column, Grid, Place } from "./mask_grid.js"
 * @import { View } from "./verdicts.js"
 * @import { AttentionHead } from "../../types/records.js"
 */

const SINK = 1 / 6; // a first token that takes more than this is called a sink

/** @param {string} text */
const quoted = (text) => `‘${text}’`;

/**
 * What a row may see.
 * @param {View} view
 * @param {number} row
 */
export function seenBy(view, row) {
  const position = view.step.context_length + view.shape.depths[row];
  const above = view
    .line(row)
    .slice(0, -1)
    .map((r) => view.label(r, 12));
  const seen = ["the text so far", ...above, "itself"].join(", ");
  return `${view.label(row, 14)} at position ${count(position)} sees ${seen}`;
}

/**
 * The weight of a cell, or, where no cell is pointed at, what the first token takes of the row.
 * @param {Grid} grid
 * @param {View} view
 * @param {AttentionHead} head
 * @param {number} row
 * @param {Place | null} place
 */
export function weightInWords(grid, view, head, row, place) {
  const weights = weightsOf(head, view.shape.depths)[row];
  const who = quoted(view.label(row, 14));
  if (place?.column) return `${who} gives ${shareOn(grid, view, head, weights, place.column)}.`;
  if (place?.seen === undefined) return sinkSentence(grid, view, head, weights, who);
  const at = view.line(row).indexOf(place.seen);
  const other = quoted(view.label(place.seen, 14));
  if (at < 0) return `${who} may not look at ${other}: it is no ancestor.`;
  const value = inWords(weights[1 + head.slots.length + at]);
  return `${who} gives ${value} of its attention to ${place.seen === row ? "itself" : other}.`;
}

/**
 * @param {Grid} grid
 * @param {View} view
 * @param {AttentionHead} head
 * @param {Float64Array} weights
 * @param {Column} column
 */
function shareOn(grid, view, head, weights, column) {
  const value = inWords(weightOn(grid, head, weights, column));
  if (column.kind === "sum")
    return `${value} of its attention to ${plural(column.tokens, "other token")} of the text so far, taken together`;
  const which = column.kind === "first" ? "the first token, " : "";
  return `${value} of its attention to ${which}${quoted(view.token(column.id, 14))} at position ${count(column.at)}`;
}

/**
 * @param {Grid} grid
 * @param {View} view
 * @param {AttentionHead} head
 * @param {Float64Array} weights
 * @param {string} who
 */
function sinkSentence(grid, view, head, weights, who) {
  const share = weights[1];
  const sink = share > SINK ? " (an attention sink)" : "";
  const most = inWords(mostWeight(grid, head, weightsOf(head, view.shape.depths)));
  return `${who} gives the first token ${percent(share)} of its attention${sink}: it and the sum of the text so far are bars, colours scale to the rest, up to ${most}.`;
}

/**
 * The rows that the mask shows; a lookahead window's, in the same pass, have a mask of their own.
 * @param {View} view
 */
export const treeRows = ({ rows, extraRows }) =>
  extraRows
    ? `${plural(rows, "row")} of the tree, without the window's ${count(extraRows)}`
    : plural(rows, "row");

/** @param {number} value */
const inWords = (value) => (value === 0 ? "under 0.0001" : probability(value));

/**
 * The picture for those who do not see it.
 * @param {View} view
 * @param {AttentionHead | null} head
 */
export function spoken(view, head) {
  const rows = treeRows(view);
  const rule = `each row sees the ${view.step.context_length} tokens so far, its ancestors and itself`;
  if (head)
    return `Attention weights of layer ${head.layer + 1}, head ${head.head + 1}, over ${rows}: ${rule}.`;
  return `Tree-attention mask of ${rows}: ${rule}. The table of nodes lists parents and positions.`;
}
