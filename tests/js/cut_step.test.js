import assert from "node:assert/strict";
import { test } from "node:test";
import { cutStep } from "../../assets/learn/cut_step.js";
import { record, step, trace } from "./records.js";

test("a step with all its guesses is itself", () => {
  const [whole] = cutStep(trace(), 0, 9).steps;
  assert.deepEqual(whole.token_ids, step().token_ids);
  assert.deepEqual([whole.emitted, whole.bonus], [step().emitted, step().bonus]);
});

test("a chain keeps the first guesses, with what was recorded of them", () => {
  const alone = cutStep(trace(), 0, 1);
  const [chain] = alone.steps;
  assert.deepEqual(alone.trees[0].paths, [[0], [0, 0]]);
  assert.deepEqual(chain.token_ids, [10, 11, 13]);
  assert.deepEqual(chain.verdicts, ["root", "accepted", "rejected"]);
  assert.deepEqual([chain.accepted, chain.emitted, chain.bonus], [[0, 1], [10, 11], 15]);
});

test("where the accepted path leaves the chain, the base model's own token follows", () => {
  const other = record({
    steps: [
      step({
        choices: [12, 15, 14, 17, 18],
        accepted: [0, 2, 4],
        emitted: [10, 12, 14],
        bonus: 18,
        verdicts: ["root", "rejected", "accepted", "pruned", "accepted"],
      }),
    ],
  });
  const [chain] = cutStep(trace(other), 0, 1).steps;
  assert.deepEqual([chain.accepted, chain.emitted, chain.bonus], [[0], [10], 12]);
});
