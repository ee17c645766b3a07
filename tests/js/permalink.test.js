// That the settings are those of the page is tested in tests/test_javascript.py.

import assert from "node:assert/strict";
import { test } from "node:test";
import { hashOf, offered, wantedFrom } from "../../assets/step_explorer/permalink.js";
import { header } from "./records.js";

const EXAMPLES = [{ name: "code", prompt: "Write code." }];
const run = (changes, settings = {}) => {
  const base = header(changes);
  return { header: { ...base, settings: { ...base.settings, tree: "auto", ...settings } } };
};

test("a recorded run is named, with the step counted from 1", () => {
  assert.equal(hashOf(run(), 3, "code & more", EXAMPLES), "#trace=code+%26+more&step=4");
  assert.equal(hashOf(run(), null, "code", EXAMPLES), "#trace=code");
});

test("a rival other than plain decoding is in the link, too", () => {
  const rival = run({}, { method: "hydra" });
  assert.match(hashOf({ ...run(), rival }, 0, null, EXAMPLES), /against=hydra/);
  const plain = run({}, { method: "plain" });
  assert.doesNotMatch(hashOf({ ...run(), rival: plain }, 0, null, EXAMPLES), /against/);
});

test("a run is named by its example or its prompt, and by settings that are not the usual ones", () => {
  assert.equal(hashOf(run({ prompt: "Write code." }), 0, null, EXAMPLES), "#example=code&step=1");
  assert.equal(hashOf(run(), 0, null, EXAMPLES), "#prompt=Hello&step=1");
  const warm = run({}, { temperature: 0.7, acceptance: "typical", tree: "chain:3" });
  const wanted = wantedFrom(hashOf(warm, 0, null, EXAMPLES));
  assert.deepEqual(wanted.settings, { tree: "chain:3", acceptance: "typical", temperature: "0.7" });
});

test("the rule that follows from the temperature needs no mention", () => {
  const greedy = run({}, { acceptance: "greedy" });
  assert.equal(hashOf(greedy, 0, null, EXAMPLES), "#prompt=Hello&step=1");
  const drawn = run({}, { acceptance: "greedy", temperature: 1 });
  assert.match(hashOf(drawn, 0, null, EXAMPLES), /acceptance=greedy/);
});

test("a link read back asks for what was on view", () => {
  const wanted = wantedFrom(hashOf(run(), 16, null, EXAMPLES));
  assert.deepEqual(wanted, { trace: null, example: null, prompt: "Hello", step: 16, settings: {} });
});

test("nonsense in the address asks for nothing", () => {
  for (const hash of ["", "#", "#step=0", "#step=-3", "#step=x", "#evil=<img>"]) {
    assert.deepEqual(wantedFrom(hash), {
      trace: null,
      example: null,
      prompt: null,
      step: null,
      settings: {},
    });
  }
});

test("a link sets what an input can take, and nothing else", () => {
  const range = { minimum: 0, maximum: 2, whole: false };
  assert.equal(offered("0.7", 0, range), 0.7);
  for (const wrong of ["abc", "1e400", "-1", "2.1", "", " ", "NaN"]) {
    assert.equal(offered(wrong, 0, range), 0);
  }
  const seed = { minimum: 0, maximum: null, whole: true };
  assert.equal(offered("17", 0, seed), 17);
  assert.equal(offered("1.5", 0, seed), 0);
  assert.equal(offered("1e300", 0, seed), 0);
  assert.equal(offered("hydra", "medusa", ["medusa", "hydra"]), "hydra");
  assert.equal(offered("<h1>log in</h1>", "medusa", ["medusa", "hydra"]), "medusa");
  assert.equal(offered("true", false, null), true);
  assert.equal(offered("<b>", "", null), "<b>");
  assert.equal(offered(undefined, "now", null), "now");
});
