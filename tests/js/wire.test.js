// A whole run through both sides of the wire: tests/browser/test_files.py.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Trace } from "../../assets/step_explorer/trace.js";
import { take } from "../../assets/step_explorer/wire.js";
import { header } from "./records.js";

const packed = (changes = {}) => ({
  i: 0,
  c: 3,
  t: 0,
  id: [10, 11],
  d: [1_000_000, 500_000],
  j: [1_000_000, 250_000],
  b: [1_000_000, 620_000],
  r: [0, 3],
  w: [12, 13],
  h: null,
  v: "oa",
  k: 2,
  ti: [12, 14, 13, 15],
  tp: [620_000, 100_000, 900_000, 50_000],
  a: [0, 1],
  e: [10, 11],
  n: 13,
  np: 900_000,
  p: [
    [
      3,
      11,
      [
        [14, 15],
        [700_000, 1],
      ],
    ],
  ],
  o: null,
  pr: null,
  l: null,
  ms: [1, 2, 3, 4, 5, 6],
  ...changes,
});

function run(...events) {
  const trace = new Trace();
  for (const event of events) take(trace, event);
  return trace;
}

const begun = ["run", 0, header(), [10, "a", 11, ["⟨F0⟩⟨9F⟩", null, "f09f"], 12, ["␣b", " b"]]];
const stepped = (changes) => ["step", 0, packed(changes), [13, "d"], [{ name: "x", paths: [[0]] }]];

test("a run begins with its header and pieces, text or bytes", () => {
  const trace = run(begun);
  assert.equal(trace.header.model, "tiny");
  assert.deepEqual(trace.piece(10), { text: "a", bytes: null, label: "a" });
  assert.deepEqual(trace.piece(11), { text: null, bytes: "f09f", label: "⟨F0⟩⟨9F⟩" });
  assert.deepEqual(trace.piece(12), { text: " b", bytes: null, label: "␣b" });
});

test("a step is unpacked field by field", () => {
  const [step] = run(begun, stepped()).steps;
  assert.deepEqual(step.verdicts, ["root", "accepted"]);
  assert.deepEqual(step.base_probs, [1, 0.62]);
  assert.deepEqual(step.joint_probs, [1, 0.25]);
  assert.deepEqual(step.base_top, [
    { ids: [12, 14], probs: [0.62, 0.1] },
    { ids: [13, 15], probs: [0.9, 0.05] },
  ]);
  assert.deepEqual(step.positions, [
    { index: 3, base_choice: 11, heads: [{ ids: [14, 15], probs: [0.7, 0.000001] }] },
  ]);
  assert.deepEqual(step.timings, {
    heads: 1,
    draft: 2,
    verify: 3,
    accept: 4,
    commit: 5,
    record: 6,
  });
  assert.deepEqual([step.bonus, step.bonus_prob], [13, 0.9]);
  assert.deepEqual([step.thresholds, step.draft_top, step.price], [null, null, null]);
});

test("what only some runs have arrives, too", () => {
  const more = {
    h: [0, 90_000],
    o: [
      [[11], [500_000]],
      [[], []],
    ],
    pr: 0.5,
    np: null,
    n: null,
  };
  const [step] = run(begun, stepped(more)).steps;
  assert.deepEqual(step.thresholds, [0, 0.09]);
  assert.deepEqual(step.draft_top, [
    { ids: [11], probs: [0.5] },
    { ids: [], probs: [] },
  ]);
  assert.deepEqual([step.price, step.bonus, step.bonus_prob], [0.5, null, null]);
});

test("a step without a pass has no predictions", () => {
  const [step] = run(begun, stepped({ k: 0, ti: [], tp: [], w: [] })).steps;
  assert.deepEqual(step.base_top, []);
});

test("the rival's lane and late positions", () => {
  const rival = ["run", 1, header({ prefill_ms: 21 }), []];
  const [, , ...second] = stepped();
  const trace = run(
    begun,
    rival,
    stepped(),
    ["step", 1, ...second],
    ["positions", 0, [[4, 13, [[16], [500_000]]]], [16, "p"]],
  );
  assert.equal(trace.rival.header.prefill_ms, 21);
  assert.deepEqual(
    trace.rival.steps,
    trace.steps.map((step) => ({ ...step, positions: trace.rival.steps[0].positions })),
  );
  assert.deepEqual([trace.steps.length, trace.rival.tokens.length], [1, 2]);
  assert.deepEqual(trace.headsBefore({ context_length: 5 })[0].ids, [16]);
  assert.equal(trace.piece(16).text, "p");
});
