import assert from "node:assert/strict";
import { test } from "node:test";
import { median, stepMs } from "../../assets/step_explorer/times.js";
import { nameOf, Trace } from "../../assets/step_explorer/trace.js";
import { header, plain, record, rootStep, step, trace } from "./records.js";

const two = () => trace({ steps: [step(), rootStep({ index: 1, context_length: 5 })] });

test("a record read is the record written", () => {
  const whole = record();
  assert.deepEqual(Trace.of(whole).record(), whole);
});

test("pieces are written in the order of their ids", () => {
  const grown = new Trace();
  grown.addPiece(30, { text: "z" });
  grown.addPiece(4, { text: null, bytes: "f0" });
  assert.deepEqual(Object.keys(grown.record().pieces), ["4", "30"]);
  assert.deepEqual(grown.piece(30), { text: "z", bytes: null, label: "z" }); // an older file's
  assert.equal(grown.piece(7).text, "⟨token 7⟩");
});

test("the newest step is null before the first", () => {
  assert.equal(new Trace().newest, null);
  assert.equal(trace().newest, 0);
  assert.equal(two().newest, 1);
});

test("a tree's shape: parents, depths, ranks and children", () => {
  const { parents, depths, ranks, children } = trace().shape(step());
  assert.deepEqual(parents, [-1, 0, 0, 1, 2]);
  assert.deepEqual(depths, [0, 1, 1, 2, 2]);
  assert.deepEqual(ranks, [0, 0, 1, 0, 0]);
  assert.deepEqual(children, [[1, 2], [3], [4], [], []]);
  assert.deepEqual(trace().line(step(), 4), [0, 2, 4]);
});

test("a lane's clock leaves out the time of recording", () => {
  assert.equal(stepMs(step()), 28);
  const { clock, tokensBy, tokens } = two();
  assert.deepEqual(clock, [0.028, 0.056]);
  assert.deepEqual(tokensBy, [2, 3]);
  assert.deepEqual(tokens.at(1), { id: 11, depth: 1, step: 0 });
});

test("the step at a moment, and the rival's token", () => {
  const run = two();
  assert.deepEqual(
    [0, 0.027, 0.028, 0.1].map((s) => run.stepAt(s)),
    [0, 0, 0, 1],
  );
  assert.deepEqual(
    [0, 0.02, 0.039, 0.04, 9].map((s) => run.rival.tokensAt(s)),
    [0, 1, 1, 2, 2],
  );
  assert.equal(run.seconds, 0.056);
});

test("the prefix of a step holds the prompt and what was emitted before", () => {
  assert.deepEqual(two().prefixIds({ context_length: 5 }), [1, 2, 3, 10, 11]);
  assert.deepEqual(two().prefixIds({ context_length: 3 }), [1, 2, 3]);
});

test("drafts come from the position before the root, recorded then or later", () => {
  const run = two();
  assert.equal(run.headsBefore(step()).length, 2);
  const late = { context_length: 9 };
  assert.deepEqual(run.headsBefore(late), []);
  run.addPositions([{ index: 8, base_choice: 1, heads: [{ ids: [5], probs: [1] }] }]);
  assert.deepEqual(run.headsBefore(late)[0].ids, [5]);
  assert.equal(run.steps.at(-1).positions.length, 1);
});

test("the rule in force where it was left to the temperature", () => {
  const withRule = (settings) => trace({ header: header({ settings }) }).rule;
  assert.equal(withRule({ acceptance: "auto", temperature: 0 }), "greedy");
  assert.equal(withRule({ acceptance: "auto", temperature: 0.7 }), "sample");
  assert.equal(withRule({ acceptance: "typical", temperature: 0.7 }), "typical");
  assert.equal(new Trace().rule, "greedy");
});

test("medians, of all and of a lane's steps as they come", () => {
  assert.equal(median([]), null);
  assert.equal(median([3, 1, 2]), 2);
  assert.equal(median([4, 1, 2, 3]), 2.5);
  const { rival } = trace({ rival: plain(2, 10) });
  assert.equal(rival.usualMs, 10);
  for (const more of plain(3, 30).steps) rival.addStep(more);
  assert.equal(rival.usualMs, 30);
});

test("a head's weights are kept once", () => {
  const run = trace();
  const head = { step: 0, layer: 1, head: 2 };
  run.addAttention(head);
  run.addAttention({ ...head });
  run.addAttention({ ...head, head: 3 });
  assert.equal(run.attention.length, 2);
});

test("a lane is called as the run says, in old traces by its method", () => {
  const named = (method, shown) => nameOf({ header: { settings: { method }, shown } });
  assert.equal(named("hydra", { title: "Hydra heads", drafter: "" }), "Hydra heads");
  assert.equal(named("draft-model"), "Draft model");
  assert.equal(named("plain"), "Plain decoding");
  assert.equal(nameOf({ header: null }), "");
});
