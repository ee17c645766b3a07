// Whatever a file holds, the reader gets the run or one sentence.

import assert from "node:assert/strict";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { MAX_BYTES, OpenError, openTrace, traceOf } from "../../assets/step_explorer/open.js";
import { record, step } from "./records.js";

const NAME = "evil <img src=x>.json.gz";
const packed = (value) => gzipSync(JSON.stringify(value));
const opened = (bytes) => openTrace(new Blob([bytes]), NAME);
const whole = packed(record());

const FILES = {
  "not gzip": [Buffer.from("<html>hello</html>"), "not a gzip file"],
  empty: [Buffer.alloc(0), "damaged"],
  "cut short": [whole.subarray(0, whole.length / 2), "cut short"],
  damaged: [Buffer.from(whole).fill(0xff, 100, 160), "damaged"],
  "not JSON": [gzipSync("{not json"), "does not contain JSON"],
  "no trace": [packed([1, 2]), "is not a trace"],
  null: [packed(null), "is not a trace"],
  newer: [packed(record({ format_version: 99 })), "reads trace format 99"],
  "version in words": [packed(record({ format_version: "1" })), "is not a trace"],
  fault: [packed(record({ header: null })), "valid trace (header is missing)"],
  "too many steps": [packed(record({ steps: new Array(4097).fill(0) })), "4,096 steps, which no"],
  "a rival of too many steps": [packed(record({ rival: { steps: new Array(4097) } })), "4,096"],
  bomb: [gzipSync(Buffer.alloc(MAX_BYTES + 10, " ")), "larger than 64 MB"],
};

test("a trace that was saved is the trace that is opened", async () => {
  const trace = await opened(whole);
  assert.deepEqual(trace.record(), record());
});

for (const [name, [bytes, sentence]] of Object.entries(FILES)) {
  test(`a bad file is one sentence that names it: ${name}`, async () => {
    await assert.rejects(opened(bytes), (error) => {
      assert.ok(error instanceof OpenError);
      assert.ok(error.message.startsWith(NAME), error.message);
      assert.ok(error.message.includes(sentence), error.message);
      assert.match(error.message, /: [^:]+\.$/); // what to do
      return true;
    });
  });
}

test("a file larger than any trace is not even unpacked", async () => {
  const large = { size: MAX_BYTES + 1, name: "large", stream: () => assert.fail("was read") };
  await assert.rejects(openTrace(large), /larger than 64 MB/);
});

test("a record that was read already is checked as well", () => {
  assert.equal(traceOf(record(), "This").steps.length, 1);
  assert.throws(() => traceOf(record({ steps: [step({ tree: 7 })] }), "This"), /steps\.0\.tree/);
});

test("a file without labels goes through the upgrade, where there is one", async () => {
  const bare = { ...record(), figures: {}, pieces: { 0: { text: " a", bytes: null } } };
  const file = new Blob([gzipSync(JSON.stringify(bare))]);
  assert.equal((await openTrace(file, NAME)).piece(0).label, " a");
  assert.equal((await openTrace(file, NAME, async () => record())).piece(0).label, "a");
});

test("a file of an earlier format goes through the server's upgrade, or says where it opens", async () => {
  const old = gzipSync(JSON.stringify({ ...record(), format_version: 1, plain: [] }));
  let asked = "";
  const upgrade = async (file) => {
    asked = file;
    return record();
  };
  const opening = await openTrace(new Blob([old]), NAME, upgrade);
  assert.equal(opening.steps.length, 1);
  assert.deepEqual(Buffer.from(asked, "base64"), old);
  await assert.rejects(openTrace(new Blob([old]), NAME), /open it in the app/);
  const refuse = async () => ({ problem: "No." });
  await assert.rejects(openTrace(new Blob([old]), NAME, refuse), /^OpenError|No\./);
});
