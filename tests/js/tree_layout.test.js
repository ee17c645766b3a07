import assert from "node:assert/strict";
import { test } from "node:test";
import { Trace } from "../../assets/step_explorer/trace.js";
import {
  descendants,
  foldedRows,
  MANY_NODES,
  tidy,
} from "../../assets/step_explorer/tree_layout.js";
import { PATHS, step } from "./records.js";

function shapeOf(paths) {
  const trace = new Trace();
  trace.addTree({ name: "", paths });
  return trace.shape({ tree: 0 });
}

test("a line for each leaf; a node stands on its first child's", () => {
  const { place, lines } = tidy(shapeOf(PATHS), new Set());
  assert.equal(lines, 2);
  assert.deepEqual(Object.fromEntries(place), {
    0: { column: 0, line: 0 },
    1: { column: 1, line: 0 },
    2: { column: 1, line: 1 },
    3: { column: 2, line: 0 },
    4: { column: 2, line: 1 },
  });
});

test("what is below a folded row has no place", () => {
  const { place, lines } = tidy(shapeOf(PATHS), new Set([1]));
  assert.deepEqual([...place.keys()].sort(), [0, 1, 2, 4]);
  assert.equal(lines, 2);
});

test("no two rows stand at one place, whatever the tree", () => {
  const paths = [[0], [1], [2], [0, 0], [0, 1], [2, 0], [2, 1], [0, 1, 0], [2, 1, 0], [2, 1, 1]];
  const { place } = tidy(shapeOf(paths), new Set());
  const spots = [...place.values()].map(({ column, line }) => `${column} ${line}`);
  assert.equal(new Set(spots).size, paths.length + 1);
});

test("a chain of 512 nodes is laid out and counted", () => {
  const chain = shapeOf(Array.from({ length: 512 }, (_, i) => new Array(i + 1).fill(0)));
  assert.equal(tidy(chain, new Set()).lines, 1);
  assert.equal(descendants(chain, 0), 512);
  assert.equal(descendants(chain, 511), 1);
  assert.equal(descendants(chain, 512), 0);
});

test("only large trees fold, and only rejected rows with children, unless opened", () => {
  const children = Array.from({ length: MANY_NODES }, (_, i) => [i]);
  const large = shapeOf([...children, [0, 0], [1, 0]]);
  const rows = large.parents.length;
  const verdicts = ["root", "accepted", "rejected", ...new Array(rows - 3).fill("rejected")];
  const record = step({ token_ids: new Array(rows).fill(1), verdicts });
  assert.deepEqual([...foldedRows(record, large, new Set())], [2]);
  assert.deepEqual([...foldedRows(record, large, new Set([2]))], []);
  assert.deepEqual([...foldedRows(step(), shapeOf(PATHS), new Set())], []);
});
