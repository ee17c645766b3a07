import assert from "node:assert/strict";
import { test } from "node:test";
import { Explorer } from "../../assets/step_explorer/main.js";
import { step, trace } from "./records.js";

/** What "follow live" sets in a live run with these steps. */
function following(steps) {
  const set = {};
  const explorer = {
    state: { live: true, follow: false, playing: false },
    store: { set: (values) => Object.assign(set, values) },
    trace: trace({ steps }),
  };
  Explorer.prototype.followLive.call(explorer);
  return set;
}

test("following a live run shows its newest step", () => {
  assert.deepEqual(following([step()]), { follow: true, step: 0, row: null });
  assert.equal(following([step(), step({ index: 1 })]).step, 1);
});

test("following a live run without steps shows none", () => {
  assert.equal(following([]).step, null);
});
