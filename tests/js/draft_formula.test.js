// The chart of chapter 2: its measured points.

import assert from "node:assert/strict";
import { test } from "node:test";
import { numbered } from "../../assets/learn/draft_formula.js";

test("every measured point has a number, and the note explains each", () => {
  const points = numbered([
    { k: 3, tokens: 1.5, speedup: null, name: "counted" },
    { k: 3, tokens: 1.33, speedup: 0.77, name: "timed" },
  ]);
  const dots = points.flatMap((point) => point.dots);
  assert.deepEqual(
    dots.map(({ label, y }) => [label, y]),
    [
      ["①", 1.5],
      ["②", 1.33],
      ["③", 0.77],
    ],
  );
  assert.deepEqual(
    points.map(({ words }) => words),
    ["① 1.50 tokens per step: counted", "② 1.33 tokens per step, ③ 0.77×: timed"],
  );
});
