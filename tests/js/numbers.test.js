import assert from "node:assert/strict";
import { test } from "node:test";
import {
  count,
  inColumn,
  milliseconds,
  ordinal,
  percent,
  plural,
  probability,
  rate,
  ratio,
  shortProbability,
} from "../../assets/step_explorer/numbers.js";

const table = (written, rows) =>
  test(`${written.name} of ${rows.length} values`, () => {
    for (const [value, text] of rows) assert.equal(written(value), text, String(value));
  });

table(count, [
  [0, "0"],
  [999, "999"],
  [1000, "1\u202f000"],
  [49152000, "49\u202f152\u202f000"],
]);
table(ratio, [
  [null, "–"],
  [1.005, "1.00"],
  [2, "2.00"],
]);
table(rate, [
  [null, "–"],
  [43.21, "43.2"],
  [142.6, "143"],
  [1234.5, "1\u202f235"],
]);
table(milliseconds, [
  [null, "–"],
  [0, "0.0"],
  [0.04, "0.04"],
  [25.46, "25.5"],
]);
table(probability, [
  [0, "≈ 0"],
  [1, "1"],
  [0.9949, "0.99"],
  [0.9951, "over 0.99"],
  [0.00009, "under 0.0001"],
  [0.0012345, "0.0012"],
  [0.625, "0.63"],
]);
table(inColumn, [
  [0.9951, "> 0.99"],
  [0.00009, "< 0.0001"],
  [0.625, "0.63"],
]);
table(shortProbability, [
  [1, "1"],
  [0.996, "›.99"],
  [0.0099, "‹.01"],
  [0.62, ".62"],
]);
table(percent, [
  [null, "–"],
  [0.005, "1 %"],
  [1, "100 %"],
]);
table(ordinal, [
  [1, "1st"],
  [2, "2nd"],
  [3, "3rd"],
  [4, "4th"],
  [11, "11th"],
  [12, "12th"],
  [21, "21st"],
  [113, "113th"],
  [1022, "1\u202f022nd"],
]);

test("one is singular, everything else is not", () => {
  assert.equal(plural(1, "row"), "1 row");
  assert.equal(plural(0, "row"), "0 rows");
  assert.equal(plural(2, "guess", "guesses"), "2 guesses");
});
