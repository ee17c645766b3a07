// The mask's places and words, without its picture.

import assert from "node:assert/strict";
import { test } from "node:test";
import { weightsOf } from "../../assets/step_explorer/attention.js";
import { mostWeight, weightOn } from "../../assets/step_explorer/mask_cells.js";
import { gridOf, placeAt, prefixColumns } from "../../assets/step_explorer/mask_grid.js";
import { seenBy, spoken, weightInWords } from "../../assets/step_explorer/mask_words.js";
import { view } from "./records.js";

const PICTURE = { size: { width: 600, height: 300 }, zoom: 1 };
const DEPTHS = [0, 1, 1, 2, 2];
const app = (state = {}) => ({ state: { form: "mask", prefixOpen: false, ...state }, unit: 1 });

/** A head with two slots: per row the rest 0.1, the slots 0.5 and 0.2, its line the last 0.2. */
function headOf() {
  const values = DEPTHS.flatMap((depth) => [0.1, 0.5, 0.2, ...new Array(depth).fill(0), 0.2]);
  const bytes = Buffer.alloc(2 * values.length);
  values.forEach((value, i) => void bytes.writeUInt16LE(Math.round(65_535 * value), 2 * i));
  const weights = bytes.toString("base64");
  return { step: 0, layer: 1, head: 2, layers: 3, heads: 4, slots: [0, 2], weights };
}

test("rows of a lookahead window, which the mask leaves out, are named", () => {
  assert.match(spoken(view(), null), /mask of 5 rows:/);
  const window = [
    [1, 2, 3],
    [4, 5, 6],
  ];
  const looking = view({ lookahead: { window, guesses: [], pool_size: 0 } });
  assert.match(spoken(looking, null), /mask of 5 rows of the tree, without the window's 5:/);
});

const kinds = (columns) => columns.map(({ kind }) => kind);

test("the prefix is one column until it is opened, then a few tokens and the rest", () => {
  assert.deepEqual(prefixColumns(app(), view(), null), [{ kind: "sum", tokens: 3 }]);
  const opened = prefixColumns(app({ prefixOpen: true }), view(), null);
  assert.deepEqual(
    opened.map(({ at, id }) => [at, id]),
    [
      [0, 1],
      [1, 2],
      [2, 3],
    ],
  );
});

test("weights have the first token apart, and the listed ones where the prefix is open", () => {
  const closed = prefixColumns(app({ form: "weights" }), view(), headOf());
  assert.deepEqual(kinds(closed), ["first", "sum"]);
  const state = { form: "weights", prefixOpen: true };
  const opened = prefixColumns(app(state), view(), headOf());
  assert.deepEqual(kinds(opened), ["first", "sum", "token"]);
  assert.deepEqual([opened[1].tokens, opened[2].at, opened[2].slot], [1, 2, 1]);
});

test("a point of the picture is the cell that is drawn there", () => {
  const grid = gridOf(app(), PICTURE, view(), prefixColumns(app(), view(), null));
  const middle = grid.cell / 2;
  for (let row = 0; row < 5; row += 1) {
    for (let seen = 0; seen < 5; seen += 1) {
      const place = placeAt(grid, view(), grid.x(seen) + middle, grid.y(row) + middle);
      assert.deepEqual(place, { row, seen });
    }
    const place = placeAt(grid, view(), grid.prefixX(0) + middle, grid.y(row) + middle);
    assert.deepEqual([place.row, place.i, place.column.kind], [row, 0, "sum"]);
  }
  assert.equal(placeAt(grid, view(), grid.x(0), grid.top - 5), null);
  assert.equal(placeAt(grid, view(), grid.x(0), grid.height + 5), null);
});

test("columns never lie over each other, and all are inside", () => {
  for (const width of [320, 600, 1400]) {
    const picture = { size: { width, height: 300 }, zoom: 1 };
    const grid = gridOf(app(), picture, view(), prefixColumns(app(), view(), null));
    const lefts = [grid.prefixX(0), ...DEPTHS.map((_, row) => grid.x(row))];
    for (const [i, x] of lefts.slice(1).entries()) assert.ok(x >= lefts[i] + grid.cell - 1e-9);
    assert.ok(lefts.at(-1) + grid.cell <= grid.width);
  }
});

test("weights are decoded row by row, and what has no column is in the sum", () => {
  const head = headOf();
  const rows = weightsOf(head, DEPTHS);
  assert.deepEqual(
    rows.map((row) => row.length),
    DEPTHS.map((depth) => 4 + depth),
  );
  const columns = prefixColumns(app({ form: "weights" }), view(), head);
  const grid = { columns };
  assert.ok(Math.abs(weightOn(grid, head, rows[0], columns[0]) - 0.5) < 1e-4);
  assert.ok(Math.abs(weightOn(grid, head, rows[0], columns[1]) - 0.3) < 1e-4); // rest and slot 2
  assert.ok(Math.abs(mostWeight(grid, head, rows) - 0.2) < 1e-4); // bars are no part of the scale
});

test("what a row sees, in words", () => {
  assert.equal(seenBy(view(), 3), "n at position 5 sees the text so far, k, l, itself");
  assert.match(spoken(view(), null), /^Tree-attention mask of 5 rows: each row sees/);
  assert.match(spoken(view(), headOf()), /^Attention weights of layer 2, head 3, over 5 rows/);
});

test("a weight in words: of a row, of a column, and none where a row may not look", () => {
  const head = headOf();
  const columns = prefixColumns(app({ form: "weights" }), view(), head);
  const words = (row, place) => weightInWords({ columns }, view(), head, row, place);
  assert.equal(words(3, { row: 3, seen: 3 }), "‘n’ gives 0.20 of its attention to itself.");
  assert.match(words(3, { row: 3, seen: 2 }), /may not look at ‘m’: it is no ancestor/);
  assert.match(words(3, { row: 3, seen: 1 }), /gives under 0\.0001 of its attention to ‘l’/);
  assert.match(words(3, { row: 3, i: 0, column: columns[0] }), /0\.50 .* the first token, ‘b’ at/);
  assert.match(
    words(3, { row: 3, i: 1, column: columns[1] }),
    /to 2 other tokens of the text so far/,
  );
  assert.match(words(3, null), /gives the first token 50 % of its attention \(an attention sink\)/);
});
