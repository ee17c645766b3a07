// The speedup's interval is compared with Python's in tests/test_javascript.py.

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  acceptanceByDepth,
  acceptanceByRank,
  breakEven,
  lengthCounts,
  raceFigures,
  studentQuantile,
  vainRows,
} from "../../assets/step_explorer/stats.js";
import { Trace } from "../../assets/step_explorer/trace.js";
import { plain, rootStep, step, trace } from "./records.js";

const mixed = () =>
  trace({ steps: [step(), rootStep(), rootStep({ base_top: [], choices: [], bonus: null })] });

test("quantiles of Student's t are those of the tables", () => {
  for (const [freedom, value] of [
    [1, 12.706],
    [2, 4.303],
    [5, 2.571],
    [15, 2.131],
    [1e6, 1.96],
  ]) {
    assert.ok(Math.abs(studentQuantile(freedom) - value) < 6e-4, `${freedom}`);
  }
});

test("nothing measured is no figure", () => {
  const figures = raceFigures(new Trace());
  assert.deepEqual(figures, {
    lane: { perSecond: null, perStep: null },
    rival: { perSecond: null, perStep: null },
    speedup: null,
    half_width: null,
    estimate: true,
  });
});

test("a speedup by hand: tokens per second of both lanes", () => {
  const figures = raceFigures(trace({ steps: [step(), step()], rival: plain(16) }));
  assert.ok(Math.abs(figures.lane.perSecond - 4000 / 56) < 1e-9);
  assert.equal(figures.rival.perSecond, 50);
  assert.equal(figures.lane.perStep, 2);
  assert.ok(Math.abs(figures.speedup - 40 / 28) < 1e-9);
  assert.equal(figures.half_width, 0); // every step alike
  assert.equal(figures.estimate, false);
  assert.equal(raceFigures(trace({ rival: plain(15) })).estimate, true);
});

test("acceptance by depth counts steps that reached it, never drafted nodes", () => {
  assert.deepEqual(acceptanceByDepth(mixed()), [
    { accepted: 1, rejected: 0, rate: 1 },
    { accepted: 0, rejected: 1, rate: 0 },
  ]);
  assert.deepEqual(acceptanceByDepth(new Trace()), []);
});

test("a depth that no step reached has no rate", () => {
  const verdicts = ["root", "rejected", "rejected", "pruned", "pruned"];
  const [first, second] = acceptanceByDepth(
    trace({ steps: [step({ verdicts, accepted: [0], emitted: [10] })] }),
  );
  assert.deepEqual(first, { accepted: 0, rejected: 1, rate: 0 });
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

test("a tree breaks even at its median step over a plain one", () => {
  assert.equal(breakEven(trace({ rival: plain(3, 14) }), 0), 2);
  assert.equal(breakEven(trace({ rival: null }), 0), null);
});
