import assert from "node:assert/strict";
import { test } from "node:test";
import { firstFault } from "../../assets/step_explorer/validate.js";
import { header, plain, record, rootStep, step } from "./records.js";

const inStep = (changes) => record({ steps: [step(), step({ index: 1, ...changes })] });
const inHeader = (changes) => record({ header: header(changes) });
const weights = (values) => Buffer.alloc(2 * values).toString("base64");
// Rows of 2 + slots + depth weights: depths 0, 1, 1, 2, 2 and two slots are 26.
const head = (changes) =>
  record({
    attention: [
      { step: 0, layer: 0, head: 1, layers: 2, heads: 3, slots: [0, 2], weights: weights(26) },
    ].map((one) => ({ ...one, ...changes })),
  });

test("a valid trace has no fault, old ones neither", () => {
  assert.equal(firstFault(record({ steps: [step(), rootStep()] })), null);
  const { attention: _, rival: __, ...old } = record();
  const { continued_tokens: ___, ...oldHeader } = header();
  const { draft_top, price, thresholds, lookahead, ...oldStep } = step();
  assert.deepEqual([draft_top, price, thresholds, lookahead], [null, null, null, null]);
  assert.equal(firstFault({ ...old, header: oldHeader, steps: [oldStep] }), null);
  assert.equal(firstFault(head()), null);
});

const FAULTS = {
  "header is missing": record({ header: [] }),
  "header.model": inHeader({ model: 3 }),
  "header.prompt_ids": inHeader({ prompt_ids: [-1] }),
  "header.continued_tokens": inHeader({ continued_tokens: 9 }),
  "header.eos_ids": inHeader({ eos_ids: "0" }),
  "header.settings": inHeader({ settings: { method: "medusa" } }),
  "header.prompt_position": inHeader({ prompt_position: { index: 0 } }),
  "pieces is missing": record({ pieces: null }),
  "pieces.12": record({ pieces: { 12: "<img>" } }),
  "pieces.__proto__x": record({ pieces: { __proto__x: { text: "a" } } }),
  "trees is missing": record({ trees: {} }),
  "trees.0": record({ trees: [{ name: "x", paths: [[0, 1]] }] }),
  "trees.1": record({ trees: [record().trees[0], { name: "x", paths: [[0], [0]] }] }),
  steps: record({ steps: {} }),
  "steps.0.not a record": record({ steps: ["<b>"] }),
  "steps.1.index": inStep({ index: 0.5 }),
  "steps.1.tree names a tree that is not there": inStep({ tree: 4 }),
  "steps.1.token_ids does not fit its tree": inStep({ token_ids: [1, 2] }),
  "steps.1.draft_probs": inStep({ draft_probs: new Array(5).fill("<b>") }),
  "steps.1.base_probs": inStep({ base_probs: [1, 2, 0, 0, 0] }),
  "steps.1.base_ranks": inStep({ base_ranks: [0, -1, 0, 0, 0] }),
  "steps.1.verdicts": inStep({ verdicts: new Array(5).fill("<img src=x>") }),
  "steps.1.base_top": inStep({ base_top: [{ ids: [1], probs: [] }] }),
  "steps.1.choices": inStep({ choices: [-2, 1, 1, 1, 1] }),
  "steps.1.thresholds": inStep({ thresholds: [0.5] }),
  "steps.1.draft_top": inStep({ draft_top: [{ ids: [1], probs: [1] }] }),
  "steps.1.price": inStep({ price: -1 }),
  "steps.1.accepted": inStep({ accepted: [4000] }),
  "steps.1.emitted": inStep({ emitted: [1, 2, 3] }),
  "steps.1.bonus": inStep({ bonus: "x" }),
  "steps.1.positions": inStep({ positions: [null] }),
  "steps.1.timings": inStep({ timings: { ...step().timings, verify: Number.NaN } }),
  "rival.trees is missing": record({ rival: { ...plain(1), trees: null } }),
  "rival.header.prompt_ids": record({
    rival: { ...plain(1), header: header({ prompt_ids: [7] }) },
  }),
  attention: record({ attention: {} }),
};

for (const [fault, bad] of Object.entries(FAULTS)) {
  test(`the first fault is named: ${fault}`, () => assert.equal(firstFault(bad), fault));
}

test("numbers that Python's reader refuses are refused here too", () => {
  const timings = { ...step().timings, verify: 1.1e12 };
  const floor = { bytes: 1, milliseconds: 1, arithmetic_ms: 2e12 };
  const wrong = [
    { context_length: 2 ** 53 },
    { token_ids: [2 ** 60, 11, 12, 13, 14] },
    { timings },
    { floor },
    { price: 1e308 },
    { promise: -1 },
    { bonus_prob: 2 },
    { lookahead: { window: 5, guesses: [], pool_size: 0 } },
  ];
  for (const changes of wrong) assert.notEqual(firstFault(inStep(changes)), null);
  assert.equal(firstFault(inHeader({ prefill_ms: 1e308 })), "header.prefill_ms");
  assert.equal(firstFault(inStep({ context_length: 2 ** 53 - 1, promise: 1e12 })), null);
});

test("a head's weights fit its step, layer and slots", () => {
  for (const changes of [
    { step: 7 },
    { layer: 2 },
    { head: 3 },
    { slots: [] },
    { slots: [1, 2] },
    { slots: [0, 0] },
    { slots: [0, 3] },
    { weights: weights(25) },
    { weights: "!".repeat(weights(26).length) },
  ]) {
    assert.equal(firstFault(head(changes)), "attention.0", JSON.stringify(changes));
  }
});
