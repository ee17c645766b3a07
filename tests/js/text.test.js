// Hostile and odd pieces are compared with Python's text in tests/test_javascript.py.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Assembler, pieceBytes, readable, shortened } from "../../assets/step_explorer/text.js";

const text = (value) => ({ text: value, bytes: null });
const raw = (hex) => ({ text: null, bytes: hex });

test("a label is cut by characters, never inside one", () => {
  assert.equal(shortened("abcdef", 4), "abc…");
  assert.equal(shortened("abcd", 4), "abcd");
  assert.equal(shortened("😀".repeat(9), 4), "😀😀😀…");
  assert.equal(shortened("\u2068שלום\u2069", 3), "\u2068של…\u2069");
});

test("bytes of a damaged trace become one character", () => {
  assert.deepEqual([...pieceBytes(raw("zz"))], [0xef, 0xbf, 0xbd]);
});

test("an emoji in two pieces is joined, and what waits is shown", () => {
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

test("a paragraph keeps its lines and numbers other controls", () => {
  assert.equal(readable("a\r\nb\tc\x07"), "a\nb\tc⟨U+0007⟩");
});
