// What a tab keeps of a run, and what its last page was.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import {
  keep,
  keepExample,
  recalled,
  recalledExample,
  wasCut,
} from "../../assets/step_explorer/keep.js";
import { traceOf } from "../../assets/step_explorer/open.js";
import { record } from "./records.js";

beforeEach(() => {
  const kept = new Map();
  globalThis.sessionStorage = {
    getItem: (key) => kept.get(key) ?? null,
    setItem: (key, value) => kept.set(key, value),
    removeItem: (key) => kept.delete(key),
  };
});

test("a run that was left before its end says so", () => {
  assert.equal(recalled(), null);
  keep(traceOf(record(), "x"), true);
  assert.equal(wasCut(), true);
  assert.deepEqual(recalled()?.record(), traceOf(record(), "x").record());
  keep(traceOf(record(), "x"));
  assert.equal(wasCut(), false);
});

test("the example that was on view comes back, unless a run came after it", () => {
  keepExample("JSON");
  assert.equal(recalledExample(), "JSON");
  keep(traceOf(record(), "x"));
  assert.equal(recalledExample(), null);
});
