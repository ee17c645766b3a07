import assert from "node:assert/strict";
import { test } from "node:test";
import { Trace } from "../../assets/step_explorer/trace.js";
import {
  drafter,
  nodeTitle,
  sentences,
  stages as stages_,
  stepSentence,
} from "../../assets/step_explorer/verdicts.js";
import { view } from "./records.js";

const last = (...given) => sentences(...given).at(-1);

test("the root was chosen before, and ends a run without a pass", () => {
  assert.equal(sentences(view(), 0).length, 1);
  const stages = [
    "step-last",
    "draft-none",
    "tree-bare",
    "mask-last",
    "verify-last",
    "accept-bare",
    "commit-last",
  ];
  const ended = view({ base_top: [], choices: [], reasons: ["root-last"], stages });
  assert.match(last(ended, 0), /no verify pass/);
  assert.match(stepSentence(ended), /already known/);
});

test("a guess, its rank and its probability", () => {
  assert.match(sentences(view(), 1)[0], /^Head 1 guessed ‘l’ with 0\.50\.$/);
  assert.match(sentences(view(), 2)[0], /with 0\.25, its 2nd guess\.$/);
  assert.equal(nodeTitle(view(), 4), "o · depth 2 · 1st guess of head 2");
  const drawn = view({ stages: ["step", "draft-medusa-drawn"] });
  assert.equal(nodeTitle(drawn, 4), "o · depth 2 · 1st draw of head 2");
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

test("rejection sampling: p, q, the chance, the coin, and what was not tried", () => {
  const trials = [
    { row: 1, p: 0.2, q: 0.5, chance: 0.4, coin: 0.7 },
    { row: 2, p: 0.3, q: 0.2, chance: 1, coin: 0.1 },
  ];
  const reasons = ["root", "trial-sibling", "trial", "below", "untried"];
  const stages = ["step", "draft-model-drawn", "tree", "mask", "verify", "accept-trials", "commit"];
  const tried = view({ trials, reasons, stages }, { temperature: 0.7, method: "draft-model" });
  assert.match(sentences(tried, 1)[0], /drew ‘l’ from its distribution, where it had q = 0\.50/);
  assert.match(
    last(tried, 1),
    /p = 0\.20 just then, the drafter q = 0\.50.* = 0\.40\. The coin fell on 0\.70/,
  );
  assert.match(last(tried, 2), /The coin fell on 0\.10, below it: accepted/);
  assert.match(last(tried, 4), /not tried: a sibling/);
  assert.equal(tried.meaning(4), "not tried");
  assert.deepEqual(
    stages_(tried).map(([, name]) => name),
    ["Draft", "Tree", "Mask", "Verify", "Coins", "Accept", "Commit"],
  );
  assert.match(stages_(tried)[5][2], /^2 guesses were tried, each with a coin of its own/);
});

test("sampling compares with the token that was drawn", () => {
  const drawn = view({ reasons: ["root", "draw", "draw-sibling", "draw-end", "below"] });
  assert.match(last(drawn, 1), /drawn from the base model's distribution is the same/);
  assert.match(last(drawn, 2), /drawn from the base model's distribution was ‘l’/);
});

test("typical acceptance compares with a threshold", () => {
  const thresholds = [0, 0.3, 0.2, 0.09, 0.1];
  const reasons = ["root", "typical", "typical-lost", "typical-end", "typical-lost-end"];
  const typical = (settings) => view({ thresholds, reasons }, settings);
  assert.match(last(typical(), 1), /0\.62, above 0\.30: typical acceptance takes it \(lossy\)/);
  assert.match(last(typical(), 3), /0\.005, not above 0\.09/);
  assert.match(last(typical(), 2), /above 0\.20, but a longer or likelier path won/);
  assert.equal(typical().meaning(4), "on a path that lost");
  assert.match(last(typical({ top_p: 0.9 }), 1), /Top-p and top-k do not count/);
});

test("a node below one that was not accepted was never reached", () => {
  assert.match(last(view(), 4), /‘m’ at depth 1 was not accepted, and everything below falls/);
});

test("a trace of before says no more than it holds", () => {
  const old = view({ reasons: null, stages: null });
  assert.match(last(old, 2), /not accepted\. This trace was saved before/);
  assert.match(stepSentence(old), /over 5 rows: 1 guess accepted/);
  assert.ok(stages_(old).every(([, , sentence]) => !sentence.includes("{")));
});

test("guesses of heads stand under a method only if its heads made them", () => {
  assert.equal(view().offeredBelow(0)[1].ids[0], 11);
  assert.equal(view({}, { method: "lookahead" }).offeredBelow(0)[1], undefined);
  assert.deepEqual(view({}, { method: "lookahead" }).drafting(), []);
  assert.equal(view().drafting().length, 2);
});

test("heads that see their path are shown along their best guesses, not with hindsight", () => {
  const guess = (id) => ({ ids: [id], probs: [0.5] });
  const none = { ids: [], probs: [] };
  const hydra = view({ draft_top: [guess(11), guess(13), none, none, none] }, { method: "hydra" });
  assert.deepEqual(
    hydra.drafting().map(([, top]) => top?.ids),
    [[11], [13], []],
  );
});

test("the rows of a lookahead window are rows of the pass", () => {
  const window = [
    [1, 2, 3],
    [4, 5, 6],
  ];
  const stages = [
    "step-window",
    "draft-copied",
    "tree",
    "mask-window",
    "verify",
    "accept",
    "commit",
  ];
  const seen = view({ lookahead: { window, guesses: [], pool_size: 0 }, stages });
  assert.match(stepSentence(seen), /over 10 rows, 5 of them the lookahead window's/);
  assert.match(stages_(seen)[5][2], /The cache keeps 2 rows and discards 8;/);
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
  assert.match(stepSentence(view()), /over 5 rows: 1 guess accepted, 2 tokens gained\.$/);
  const none = view({ emitted: [10], accepted: [0] });
  assert.match(stepSentence(none), /: no guess accepted, 1 token gained\.$/);
  const described = stages_(view());
  assert.equal(described.length, 6);
  assert.match(described[0][2], /2 heads guess/);
  assert.match(described[5][2], /The cache keeps 2 rows and discards 3; ‘p’ is the next root/);
  assert.ok(described.every(([, , sentence]) => sentence.endsWith(".")));
});

test("the row that says most is the first rejected one", () => {
  assert.equal(view().tellingRow, 2);
  assert.equal(
    view({ verdicts: ["root", "accepted", "pruned", "pruned", "pruned"] }).tellingRow,
    1,
  );
});

test("a guess that held behind the end of the text is not drawn as text", () => {
  assert.equal(view().kind(1), "accepted");
  assert.equal(view({ emitted: [10] }).kind(1), "pruned");
});

test("a probability that is only bounded is compared, not equated", () => {
  const trials = [{ row: 1, p: 0, q: 0.999, chance: 0.00001, coin: 0.7 }];
  const words = last(view({ trials, reasons: ["root", "trial-end"] }), 1);
  assert.match(words, /p ≈ 0 just then, the drafter q > 0\.99, .* < 0\.0001\./);
});
