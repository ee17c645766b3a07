import assert from "node:assert/strict";
import { test } from "node:test";
import { mistakes } from "../../assets/learn/mask_puzzle.js";

/** Rows: 0 root; 1 and 2 below it; 3 below 1. */
const puzzle = {
  name: "small",
  tokens: ["It", "is", "was", "a"],
  parents: [-1, 0, 0, 1],
  prefix: 7,
  mask: [[0], [0, 1], [0, 2], [0, 1, 3]],
  positions: [7, 8, 8, 9],
};
const right = () => puzzle.mask.map((row) => puzzle.tokens.map((_, i) => row.includes(i)));

/** What is said when one cell is turned. */
const turned = (row, column) => {
  const seen = right();
  seen[row][column] = !seen[row][column];
  return mistakes(puzzle, seen, puzzle.positions);
};

test("the right mask has no mistakes", () => {
  assert.deepEqual(mistakes(puzzle, right(), puzzle.positions), []);
});

test("each kind of mistake has its sentence", () => {
  assert.match(turned(3, 3)[0].says, /‘a’ \(row 3\) must see itself/);
  assert.match(turned(3, 1)[0].says, /must see its ancestor ‘is’ \(row 1\)/);
  assert.match(turned(1, 2)[0].says, /must not see its sibling ‘was’/);
  assert.match(turned(3, 2)[0].says, /which lies on another path/);
  assert.match(turned(1, 3)[0].says, /which comes after it/);
  assert.deepEqual([turned(1, 3)[0].row, turned(1, 3)[0].column], [1, 3]);
});

test("positions count the prefix and the depth", () => {
  const [found, ...more] = mistakes(puzzle, right(), [7, 8, 9, 9]);
  assert.deepEqual(more, []);
  assert.deepEqual([found.row, found.column], [2, null]);
  assert.match(found.says, /position 8: 7 tokens before the root, and depth 1/);
});
