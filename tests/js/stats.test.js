import assert from "node:assert/strict";
import { test } from "node:test";
import {
  acceptanceByDepth,
  acceptanceByRank,
  lengthCounts,
  vainRows,
} from "../../assets/step_explorer/stats.js";
import { Trace } from "../../assets/step_explorer/trace.js";
import { rootStep, step, trace } from "./records.js";

const mixed = () =>
  trace({ steps: [step(), rootStep(), rootStep({ base_top: [], choices: [], bonus: null })] });

test("acceptance by depth counts steps that reached it, never drafted nodes", () => {
  assert.deepEqual(acceptanceByDepth(mixed()), [
    { accepted: 1, rejected: 0, rate: 1, share: 0.5 },
    { accepted: 0, rejected: 1, rate: 0, share: 0 },
  ]);
  assert.deepEqual(acceptanceByDepth(new Trace()), []);
});

test("a depth that no step reached has no rate", () => {
  const verdicts = ["root", "rejected", "rejected", "pruned", "pruned"];
  const [first, second] = acceptanceByDepth(
    trace({ steps: [step({ verdicts, accepted: [0], emitted: [10] })] }),
  );
  assert.deepEqual(first, { accepted: 0, rejected: 1, rate: 0, share: 0 });
  assert.equal(second.rate, null);
});

test("acceptance by rank counts judged nodes", () => {
  assert.deepEqual(acceptanceByRank(mixed()), [
    { accepted: 1, judged: 2, rate: 0.5 },
    { accepted: 0, judged: 1, rate: 0 },
  ]);
});

test("lengths, and rows that gave no token: those of steps with a pass", () => {
  assert.deepEqual(lengthCounts(mixed()), [2, 1]);
  assert.deepEqual(vainRows(mixed()), { rows: 6, vain: 3, share: 0.5 });
  assert.deepEqual(vainRows(new Trace()), { rows: 0, vain: 0, share: null });
});
