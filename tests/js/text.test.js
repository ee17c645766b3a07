// Hostile and odd pieces are compared with Python's labels in tests/test_javascript.py.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Assembler, pieceBytes, readable, visible } from "../../assets/step_explorer/text.js";

const text = (value) => ({ text: value, bytes: null });
const raw = (hex) => ({ text: null, bytes: hex });

test("white space and controls are seen", () => {
  assert.equal(visible(text(" a\n")), "␣a↵");
  assert.equal(visible(text("\u200b")), "⟨ZWSP⟩");
  assert.equal(visible(text("")), "⟨empty⟩");
  assert.equal(visible(text("\u0301x")), "◌\u0301x");
});

test("a label is cut by characters, never inside one", () => {
  assert.equal(visible(text("abcdef"), 4), "abc…");
  assert.equal(visible(text("abcd"), 4), "abcd");
  assert.equal(visible(text("😀".repeat(9)), 4), "😀😀😀…");
  assert.equal([...visible(text("w".repeat(1e6)), 9)].length, 9);
});

test("bytes that are no text stand as numbers", () => {
  assert.equal(visible(raw("f09f")), "⟨F0⟩⟨9F⟩");
  assert.equal(visible(raw("41ff")), "A⟨FF⟩");
  assert.equal(visible(raw("c3a9")), "é");
  assert.deepEqual([...pieceBytes(raw("zz"))], [0xef, 0xbf, 0xbd]); // damaged: U+FFFD
});

test("an emoji in two pieces is joined, and what waits is told", () => {
  const joined = new Assembler();
  assert.deepEqual(joined.add(text("a")), { text: "a", rest: "" });
  assert.deepEqual(joined.add(raw("f09f")), { text: "", rest: "⟨F0⟩⟨9F⟩" });
  assert.deepEqual(joined.add(raw("9880")), { text: "😀", rest: "" });
});

test("bytes that never become a character do not wait for ever", () => {
  const joined = new Assembler();
  joined.add(raw("c3"));
  assert.deepEqual(joined.add(text("x")), { text: "\ufffdx", rest: "" });
  assert.deepEqual(joined.add(raw("ff")), { text: "\ufffd", rest: "" });
});

test("a paragraph keeps its lines and names other controls", () => {
  assert.equal(readable("a\r\nb\tc\x07"), "a\nb\tc⟨BEL⟩");
});
