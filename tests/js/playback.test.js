// A race is offered at paces at which it can be watched, however fast the engine is.

import assert from "node:assert/strict";
import { test } from "node:test";
import { paceName, pacesOf, SPEEDS } from "../../assets/step_explorer/playback.js";

test("the slowest pace of a race takes five seconds, or is the slowest there is", () => {
  for (const seconds of [0.02, 0.14, 0.5, 2, 30]) {
    const paces = pacesOf(seconds);
    assert.equal(paces.length, 3);
    assert.equal(paces[0], "1");
    assert.ok(Number(paces[1]) > Number(paces[2]));
    assert.ok(seconds / Number(paces[2]) >= 5 || paces[2] === "0.01", String(seconds));
    for (const pace of paces) assert.ok(SPEEDS.some(([speed]) => speed === pace));
  }
  assert.deepEqual(pacesOf(2).map(paceName), ["×1", "×½", "×¼"]);
  assert.deepEqual(pacesOf(0.14).map(paceName), ["×1", "×1/20", "×1/50"]);
});
