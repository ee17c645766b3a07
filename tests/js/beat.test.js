// Beat the heads: how guesses are judged.

import assert from "node:assert/strict";
import { test } from "node:test";
import { guessing, scored, typedGuesses } from "../../assets/learn/beat.js";

const option = (/** @type {string} */ text, /** @type {number | null} */ p) => ({
  name: text,
  text,
  p,
});
const SLOTS = [
  {
    options: [option(" a", 0.6), option(" the", 0.3)],
    true: 0,
    head: 1,
    sure: 0.5,
    least: 0.01,
    bar: 0.09,
  },
  {
    options: [option("b", null), option(" cat", 0.5)],
    true: 1,
    head: 1,
    sure: 0.5,
    least: 0.01,
    bar: 0.09,
  },
];

test("all right: greedy and typical count, sample adds up the chances", () => {
  const score = scored(SLOTS, [0, 1]);
  assert.deepEqual([score.greedy, score.typical], [2, 2]);
  assert.ok(Math.abs(score.sample - (0.6 + 0.6 * 0.5)) < 1e-12);
});

test("the count ends at the first token that the text does not have", () => {
  assert.deepEqual(scored(SLOTS, [1, 1]), { greedy: 0, sample: 0.3, typical: 1 });
  assert.deepEqual(scored(SLOTS, [null]), { greedy: 0, sample: 0, typical: 0 });
  assert.deepEqual(scored(SLOTS, []), { greedy: 0, sample: 0, typical: 0 });
});

test("a typed text is read piece by piece, with or without the first space", () => {
  assert.deepEqual(typedGuesses("a cat", SLOTS), [0, 1]);
  assert.deepEqual(typedGuesses(" a cat sat", SLOTS), [0, 1]);
  assert.deepEqual(typedGuesses("the", SLOTS), [1]);
  assert.deepEqual(typedGuesses("a dog", SLOTS), [0, null]);
  assert.deepEqual(typedGuesses("", SLOTS), []);
});

test("a button that is pressed twice answers once, and none answers a round that is over", () => {
  const { guesses, over, answer } = guessing(SLOTS);
  assert.equal(answer(0, [0]), true);
  assert.equal(answer(0, [1]), false);
  assert.deepEqual(guesses, [0]);
  assert.equal(answer(1, [1]), true);
  assert.equal(over(), true);
  assert.equal(answer(SLOTS.length, [0]), false);
  assert.equal(guesses.length, SLOTS.length);
});

test("the first wrong guess ends the round, pressed or typed", () => {
  for (const wrong of [[1], [null], [1, 1]]) {
    const round = guessing(SLOTS);
    round.answer(0, wrong);
    assert.deepEqual([round.over(), round.answer(1, [1])], [true, false]);
    assert.deepEqual(round.guesses, wrong.slice(0, 1));
  }
});
