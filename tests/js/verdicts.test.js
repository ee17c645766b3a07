import assert from "node:assert/strict";
import { test } from "node:test";
import { Trace } from "../../assets/step_explorer/trace.js";
import {
  drafter,
  nodeTitle,
  sentences,
  stages,
  stepSentence,
} from "../../assets/step_explorer/verdicts.js";
import { view } from "./records.js";

const last = (...given) => sentences(...given).at(-1);

test("the root was chosen before, and ends a run without a pass", () => {
  assert.equal(sentences(view(), 0).length, 1);
  const ended = view({ base_top: [], choices: [] });
  assert.match(last(ended, 0), /no verify pass/);
  assert.match(stepSentence(ended), /ended the run/);
});

test("a guess, its rank and its probability", () => {
  assert.match(sentences(view(), 1)[0], /^Head 1 guessed ‘l’ with 0\.50\.$/);
  assert.match(sentences(view(), 2)[0], /with 0\.25, its 2nd guess\.$/);
  assert.equal(nodeTitle(view(), 4), "o · depth 2 · 1st guess of head 2");
});

test("greedy acceptance: what it took, what it wanted instead, with figures", () => {
  assert.match(last(view(), 1), /own first choice there \(0\.62\)/);
  assert.match(last(view(), 2), /‘l’ \(0\.62\); ‘m’ had 0\.10, rank 2, so a sibling was taken/);
  assert.match(
    last(view(), 3),
    /‘p’ \(0\.62\); ‘n’ had 0\.005, rank 8, so the path stops above it/,
  );
});

test("what the rule wanted has no figure where it is not among the best", () => {
  assert.match(last(view({ choices: [11, 18, 16, 17, 18] }), 3), /first choice, ‘s’; ‘n’ had/);
});

test("sampling compares with the token that was drawn", () => {
  const drawn = view({}, { temperature: 0.7 });
  assert.match(last(drawn, 1), /drawn from the base model's distribution is the same/);
  assert.match(last(drawn, 2), /drawn from the base model's distribution was ‘l’/);
});

test("typical acceptance compares with a threshold", () => {
  const thresholds = [0, 0.3, 0.2, 0.09, 0.1];
  const typical = (changes) => view({ thresholds, ...changes }, { acceptance: "typical" });
  assert.match(last(typical(), 1), /0\.62, above 0\.30: typical acceptance takes it \(lossy\)/);
  assert.match(last(typical(), 2), /0\.10, not above 0\.20/);
  const likelier = typical({ base_probs: [1, 0.62, 0.5, 0.005, 0.3] });
  assert.match(last(likelier, 2), /above 0\.20, but a longer or likelier path won/);
  assert.match(last(view({}, { acceptance: "typical" }), 1), /above its threshold/);
});

test("a node below a rejected one was never reached", () => {
  assert.match(last(view(), 4), /‘m’ at depth 1 was rejected, and everything below falls with it/);
  const ended = view({ verdicts: ["root", "accepted", "pruned", "pruned", "pruned"] });
  assert.match(last(ended, 4), /the path ended before it/);
});

test("the run says who guesses; old traces leave it to the method's name", () => {
  const by = (method, shown) => drafter({ header: { settings: { method }, shown } }, 2);
  assert.equal(by("medusa", { title: "Medusa", drafter: "head {depth}" }), "head 2");
  assert.equal(by("lookahead", { title: "L", drafter: "the n-gram pool" }), "the n-gram pool");
  assert.equal(by("hydra"), "head 2");
  assert.equal(by("lookahead"), "the lookahead drafter");
  assert.equal(drafter(new Trace(), 1), "head 1");
});

test("a step in one sentence, and in six stages", () => {
  assert.match(stepSentence(view()), /over 5 rows accepted 1 draft: 2 tokens gained\.$/);
  assert.match(stepSentence(view({ emitted: [10] })), /accepted no draft: 1 token gained\.$/);
  const told = stages(view());
  assert.equal(told.length, 6);
  assert.match(told[0][1], /2 heads guess/);
  assert.match(told[5][1], /2 rows of the cache stay, 3 vanish; ‘p’ is the next root/);
  assert.ok(told.every(([, sentence]) => sentence.endsWith(".")));
});

test("the row that says most is the first rejected one", () => {
  assert.equal(view().tellingRow, 2);
  assert.equal(
    view({ verdicts: ["root", "accepted", "pruned", "pruned", "pruned"] }).tellingRow,
    1,
  );
});
