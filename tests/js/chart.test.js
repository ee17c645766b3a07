// The chart: names of lines.

import assert from "node:assert/strict";
import { test } from "node:test";
import { spread } from "../../assets/learn/chart.js";

test("names that would cover each other move apart, and stay in the picture", () => {
  assert.deepEqual(spread([20, 60], 13, 10, 100), [20, 60]);
  assert.deepEqual(spread([50, 51, 52], 13, 10, 100), [50, 63, 76]);
  assert.deepEqual(spread([98, 99, 100], 13, 10, 100), [74, 87, 100]);
  assert.deepEqual(spread([-5, 12], 13, 10, 100), [10, 23]);
  assert.deepEqual(spread([], 13, 10, 100), []);
});
