// The cells of the mask: which row sees what, as colours, as 0 and −∞, or as attention weights.

import { weightsOf } from "./attention.js";
import { s } from "./dom.js";
import { shortProbability } from "./numbers.js";

/**
 * @import { Explorer } from "./main.js"
 * @import { Column, Grid } from "./mask_grid.js"
 * @import { View } from "./verdicts.js"
 * @import { AttentionHead } from "../../types/records.js"
 * @import { Weights } from "../../types/page.js"
 */

const NUMBERED = 15; // cells this large have room for 0 and −∞
const WEIGHED = 22; // and these for a weight
const OUTLINED = 7; // and for an outline
const FAINTEST = 0.07; // opacity of a weight just above 0
const STRONG = 0.5; // from this opacity on, numbers are white

/**
 * The mask itself; in its additive form with numbers.
 * @param {Explorer} app
 * @param {Grid} grid
 * @param {View} view
 */
export function maskCells(app, grid, view) {
  const group = s("g", {});
  const { form, stage } = app.state;
  const numbered = form === "additive" && grid.cell >= NUMBERED;
  for (let row = 0; row < view.rows; row += 1) {
    const kind = stage > 3 || row === 0 ? view.step.verdicts[row] : "open";
    const seen = new Set(view.line(row));
    const places = [
      ...grid.columns.map((_, i) => ({ x: grid.prefixX(i), name: "prefix" })),
      ...[...seen].map((column) => ({ x: grid.x(column), name: kind })),
    ];
    for (const { x, name } of places) {
      group.append(cell(grid, x, row, `is-${name}`));
      if (numbered) group.append(number(grid, x, row, "0", "is-zero"));
    }
    if (!numbered) continue;
    for (let column = 0; column < view.rows; column += 1) {
      if (!seen.has(column)) group.append(number(grid, grid.x(column), row, "−∞", "is-never"));
    }
  }
  return group;
}

/**
 * A head's weights: sums and the first token as bars, single tokens as shades of one colour.
 * @param {Grid} grid
 * @param {View} view
 * @param {AttentionHead | null} head
 */
export function weightCells(grid, view, head) {
  const group = s("g", {});
  const all = head && weightsOf(head, view.shape.depths);
  const most = all ? mostWeight(grid, head, all) : 0;
  for (let row = 0; row < view.rows; row += 1) {
    for (const { x, value, bar } of rowOf(grid, view, head, all, row)) {
      group.append(cell(grid, x, row, grid.cell > OUTLINED ? "is-seen is-outlined" : "is-seen"));
      if (value === null) continue;
      const opacity = value > 0 ? FAINTEST + (1 - FAINTEST) * Math.sqrt(value / most) : 0;
      group.append(
        bar
          ? s("rect", {
              class: "sx-cell is-share",
              x,
              y: grid.y(row),
              width: grid.size * value,
              height: grid.size,
            })
          : s("rect", {
              class: "sx-cell is-weight",
              x,
              y: grid.y(row),
              width: grid.size,
              height: grid.size,
              "fill-opacity": opacity.toFixed(3),
            }),
      );
      if (grid.cell >= WEIGHED * grid.unit) {
        group.append(
          number(
            grid,
            x,
            row,
            value > 0 ? shortProbability(value) : "0",
            !bar && opacity > STRONG ? "is-zero" : "is-value",
          ),
        );
      }
    }
  }
  return group;
}

/**
 * The largest weight of a single token on view: the darkest shade.
 * @param {Grid} grid
 * @param {AttentionHead} head
 * @param {Weights} all
 */
export function mostWeight(grid, head, all) {
  const slots = grid.columns.flatMap((one) => (one.kind === "token" ? [one.slot] : []));
  let most = 0;
  for (const weights of all) {
    const own = weights.subarray(1 + head.slots.length);
    for (const value of own) most = Math.max(most, value);
    for (const slot of slots) most = Math.max(most, weights[1 + slot]);
  }
  return most;
}

/**
 * A row's weight on a column of the prefix.
 * @param {Grid} grid
 * @param {AttentionHead} head
 * @param {Float64Array} weights
 * @param {Column} pointed
 */
export function weightOn(grid, head, weights, pointed) {
  if (pointed.kind !== "sum") return weights[1 + pointed.slot];
  // What is listed one by one and has a column of its own is no part of the sum.
  const apart = new Set(grid.columns.flatMap((one) => (one.kind === "sum" ? [] : [one.slot])));
  let sum = weights[0];
  head.slots.forEach((_, i) => {
    if (!apart.has(i)) sum += weights[1 + i];
  });
  return sum;
}

/**
 * @param {Grid} grid
 * @param {View} view
 * @param {AttentionHead | null} head
 * @param {Weights | null} all
 * @param {number} row
 */
function rowOf(grid, view, head, all, row) {
  const weights = all?.[row];
  const before = grid.columns.map((column, i) => ({
    x: grid.prefixX(i),
    bar: column.kind !== "token",
    value: head && weights ? weightOn(grid, head, weights, column) : null,
  }));
  const own = view.line(row).map((column, i) => ({
    x: grid.x(column),
    bar: false,
    value: head && weights ? weights[1 + head.slots.length + i] : null,
  }));
  return [...before, ...own];
}

/**
 * @param {Grid} grid
 * @param {number} x
 * @param {number} row
 * @param {string} name
 */
const cell = (grid, x, row, name) =>
  s("rect", { class: `sx-cell ${name}`, x, y: grid.y(row), width: grid.size, height: grid.size });

/**
 * @param {Grid} grid
 * @param {number} x
 * @param {number} row
 * @param {string} text
 * @param {string} name
 */
const number = (grid, x, row, text, name) =>
  s(
    "text",
    {
      class: `sx-cell-text ${name}`,
      x: x + grid.size / 2,
      y: grid.y(row) + grid.size / 2 + 3 * grid.unit,
    },
    text,
  );
