// What pictures keep to, whatever room they have: no negative heights, room for large positions.

import assert from "node:assert/strict";
import { test } from "node:test";
import { barPaths } from "../../assets/step_explorer/bars.js";
import { partsOf } from "../../assets/step_explorer/cost.js";
import { gridOf } from "../../assets/step_explorer/mask_grid.js";

test("bars have no negative height where a picture has no room", () => {
  for (const height of [0, 4, 12, 60]) {
    const paths = barPaths([1, 3], { slot: 16, most: 3, top: 13, height });
    assert.doesNotMatch(paths.join(""), /v-/, `height ${height}`);
  }
});

test("positions above 999 have room beside the sign of their row", () => {
  const grid = (/** @type {number} */ context_length) =>
    gridOf(
      { unit: 1 },
      { size: { width: 420, height: 240 }, zoom: 1 },
      { rows: 2, step: { context_length }, shape: { depths: [0, 1] } },
      [{ kind: "sum", tokens: context_length }],
    );
  assert.ok(grid(1413).numbers > grid(61).numbers);
  assert.ok(grid(1413).left - grid(1413).numbers >= grid(61).left - grid(61).numbers);
  assert.equal(grid(998).numbers < grid(999).numbers, true, "the last row is at 1 000");
});

test("a step's parts are those that the run has", () => {
  const timings = { heads: 0, draft: 0.1, verify: 5, accept: 0, commit: 0 };
  assert.deepEqual(partsOf({ steps: [{ timings }] }), ["draft", "verify"]);
  assert.deepEqual(partsOf({ steps: [{ timings }, { timings: { ...timings, heads: 1 } }] }), [
    "heads",
    "draft",
    "verify",
  ]);
});
