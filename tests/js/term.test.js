import assert from "node:assert/strict";
import { test } from "node:test";
import { GLOSSARY } from "../../assets/step_explorer/glossary.js";
import { explained, placed, wordOf } from "../../assets/step_explorer/term.js";

const VIEW = { width: 400, height: 300 };
const SIZE = { width: 200, height: 60 };
const word = (left, top) => ({ left, top, width: 80, height: 20 });

test("a title is looked up without its capital, an abbreviation with it", () => {
  assert.equal(wordOf("Candidate tree"), "candidate tree");
  assert.equal(wordOf("KV cache"), "KV cache");
  assert.ok(GLOSSARY[wordOf("Candidate tree")] && GLOSSARY[wordOf("KV cache")]);
});

test("what the glossary does not know stays a text", () => {
  assert.equal(explained("The whole run"), "The whole run");
});

test("a sentence stands below its word, inside the window", () => {
  assert.deepEqual(placed(word(50, 100), SIZE, VIEW), { left: 50, top: 126 });
  assert.deepEqual(placed(word(350, 100), SIZE, VIEW), { left: 192, top: 126 });
  assert.deepEqual(placed(word(-30, 100), SIZE, VIEW), { left: 8, top: 126 });
});

test("where no room is left below, it stands above", () => {
  assert.deepEqual(placed(word(50, 270), SIZE, VIEW), { left: 50, top: 204 });
});
