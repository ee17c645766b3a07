// Speculative sampling against its closed form.

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  acceptProbability,
  chiSquare,
  draw,
  overlap,
  residual,
  seeded,
  simulate,
  softmaxes,
  sum,
  upperTail,
  withProbability,
  written,
} from "../../assets/learn/sampling.js";

const near = (/** @type {number} */ a, /** @type {number} */ b, within = 1e-12) =>
  assert.ok(Math.abs(a - b) <= within, `${a} is not ${b}`);
const P = [0.5, 0.3, 0.2, 0];
const Q = [0.1, 0.6, 0.2, 0.1];
const DRAWS = 10_000;
const counts = (/** @type {{ accepted: number[], resampled: number[] }} */ outcome) =>
  outcome.accepted.map((n, token) => n + outcome.resampled[token]);

test("drawn candidates give p, whatever q is", () => {
  for (const q of [Q, P, [0, 0, 0, 1], [0.25, 0.25, 0.25, 0.25], [0.9, 0.1, 0, 0]])
    written(P, q, "drawn").forEach((value, token) => near(value, P[token]));
});

test("top-ranked candidates under min(1, p/q) do not", () => {
  // The candidate is token 1, accepted with 0.5; the residual is all on token 0.
  assert.deepEqual(written(P, Q, "top"), [0.5, 0.5, 0, 0]);
});

test("10,000 draws agree with the closed form, and tell the rules apart", () => {
  const drawn = simulate(P, Q, { draws: DRAWS, seed: 1, candidates: "drawn" });
  assert.equal(sum(counts(drawn)), DRAWS);
  near(sum(drawn.accepted) / DRAWS, overlap(P, Q), 4 * Math.sqrt(0.25 / DRAWS));
  assert.ok(chiSquare(counts(drawn), P).chance > 0.001);
  const top = simulate(P, Q, { draws: DRAWS, seed: 1, candidates: "top" });
  assert.ok(chiSquare(counts(top), P).chance < 1e-9);
  assert.ok(chiSquare(counts(top), written(P, Q, "top")).chance > 0.001);
});

test("a seed repeats its draws, another gives others", () => {
  const run = (/** @type {number} */ seed) =>
    simulate(P, Q, { draws: 100, seed, candidates: "drawn" });
  assert.deepEqual(run(5), run(5));
  assert.notDeepEqual(run(5), run(6));
});

test("uniform numbers are uniform", () => {
  const random = seeded(3);
  const bins = Array(10).fill(0);
  for (let i = 0; i < DRAWS; i++) bins[Math.floor(10 * random())] += 1;
  assert.ok(chiSquare(bins, Array(10).fill(0.1)).chance > 0.001);
});

test("the edges: q = 0, an empty residual, a token without probability", () => {
  assert.equal(acceptProbability(0.2, 0), 1);
  assert.equal(acceptProbability(0, 0), 0);
  assert.equal(acceptProbability(0.2, 0.8), 0.25);
  assert.deepEqual(residual(P, P), P);
  assert.equal(draw([0, 0.5, 0.5, 0], 0), 1);
  assert.equal(draw([0, 0.5, 0.5, 0], 0.999999), 2);
  assert.equal(draw([0, 0.1, 0.2, 0], 1), 2);
});

test("χ² and its tail are those of the tables", () => {
  near(chiSquare([60, 40], [0.5, 0.5]).value, 4);
  // Critical values at 5 % and 1 % (any table of χ²), and the closed form for 2 degrees: e^(−x/2).
  for (const [value, freedom, chance] of [
    [3.841, 1, 0.05],
    [9.488, 4, 0.05],
    [18.307, 10, 0.05],
    [23.209, 10, 0.01],
  ])
    near(upperTail(value, freedom), chance, 2e-5);
  near(upperTail(7, 2), Math.exp(-3.5));
  near(upperTail(0.3, 2), Math.exp(-0.15));
});

test("χ² counts rare tokens together and punishes impossible ones", () => {
  assert.equal(chiSquare([98, 1, 1], [0.98, 0.01, 0.01]).freedom, 1);
  assert.equal(chiSquare([99, 1], [1, 0]).value, Infinity);
  assert.equal(chiSquare([99, 1], [1, 0]).chance, 0);
  assert.equal(chiSquare([100], [1]).chance, 1);
});

test("a changed probability leaves a distribution", () => {
  const changed = withProbability(P, 0, 0.8);
  near(sum(changed), 1);
  near(changed[0], 0.8);
  near(changed[1] / changed[2], 1.5);
  assert.deepEqual(withProbability([1, 0, 0], 0, 0.5), [0.5, 0.25, 0.25]);
  assert.deepEqual(withProbability([0.5, 0.5], 1, 7), [0, 1]);
});

test("a softmax overflows unless its maximum is taken out", () => {
  const { naive, stable } = softmaxes([1000, 999]);
  assert.ok(naive.every(Number.isNaN));
  near(stable[0], 1 / (1 + Math.exp(-1)));
});
