// The Compare page's figures without a page: messages put together, winners, files.

import assert from "node:assert/strict";
import { test } from "node:test";
import { rangeOf } from "../../assets/compare/by_category.js";
import { csv, markdown } from "../../assets/compare/exports.js";
import { Comparison, going } from "../../assets/compare/model.js";
import { winners } from "../../assets/compare/wins.js";

const race = (number, method, speedup) => ({
  number,
  id: `p${number}`,
  category: "a",
  method,
  speedup,
  half_width: speedup === null ? null : 0.08,
  clearly_faster: speedup !== null && speedup > 1.08,
});
const message = (changes) =>
  JSON.stringify({
    run: "r",
    aside: "",
    first: 0,
    events: [],
    phase: "running",
    text: "",
    share: 0.5,
    left: 3,
    ...changes,
  });

function comparison(missed = () => assert.fail("nothing was missed")) {
  const changes = [];
  return { changes, made: new Comparison(missed, (what) => changes.push(what)) };
}

test("events are taken once and in order, whatever is sent twice", async () => {
  const { changes, made } = comparison();
  const races = ["races", [race(0, "medusa", 1.2)]];
  await made.receive(message({ events: [["prompts", [{ id: "p0" }]], races] }));
  await made.receive(message({ first: 1, events: [races, ["report", { prompts: 1 }]] }));
  await made.receive(message({ first: 3, events: [["report", null]], phase: "done" }));
  assert.deepEqual(changes, ["begun", "events", "events", "events"]);
  assert.equal(made.races.length, 1);
  assert.deepEqual(made.report, { prompts: 1 }); // an old report that was sent again is empty
  assert.equal(made.live, false);
});

test("what got lost is asked for", async () => {
  const asked = [];
  const { made } = comparison(async (...question) => {
    asked.push(question);
    return {
      first: 0,
      events: [
        ["prompts", [{ id: "p0" }]],
        ["report", { prompts: 1 }],
      ],
    };
  });
  await made.receive(message({ first: 1, events: [["report", { prompts: 1 }]] }));
  assert.deepEqual(asked, [["r", 0]]);
  assert.equal(made.prompts.length, 1);
});

test("a run that waits leaves on view what was measured before", async () => {
  const { changes, made } = comparison();
  await made.receive(message({ events: [["report", { prompts: 1 }]], phase: "done" }));
  await made.receive(message({ run: "next", phase: "waiting" }));
  assert.deepEqual([made.run, made.phase, made.report.prompts], ["r", "waiting", 1]);
  assert.deepEqual(changes, ["begun", "events", "status"]);
  assert.ok(going(made));
});

test("batches stand apart, and keep their report while they are measured again", async () => {
  const { made } = comparison();
  await made.receive(
    message({ aside: "batches", events: [["batches", { rows: 4 }]], phase: "done" }),
  );
  await made.receive(message({ aside: "batches", phase: "running" }));
  assert.deepEqual([made.batches.report.rows, made.live, made.phase], [4, true, "empty"]);
});

test("who knew it first stands apart from batches and from the comparison", async () => {
  const { made } = comparison();
  await made.receive(message({ aside: "overlap", phase: "running", text: "medusa" }));
  assert.deepEqual([made.doing.text, made.live, made.phase], ["medusa", true, "empty"]);
  const events = [["overlap", { tokens: [] }]];
  await made.receive(message({ aside: "overlap", events, phase: "done" }));
  assert.deepEqual([made.overlap.report, made.batches.report], [{ tokens: [] }, null]);
  assert.equal(made.doing, made);
});

test("a message that fails does not stop the next", async () => {
  const { made } = comparison();
  await assert.rejects(made.receive("{"));
  await made.receive(JSON.stringify({ engine: { phase: "ready", text: "", fraction: null } }));
  assert.equal(made.engine.phase, "ready");
});

test("a prompt's winner is plain unless a method was clearly faster than its own plain lane", () => {
  const races = [
    race(0, "medusa", 0.9),
    race(0, "hydra", null),
    race(1, "medusa", 1.1),
    race(1, "hydra", 1.3),
    race(2, "medusa", 1.05),
  ];
  const found = winners({ races }).map(({ id, method, speedup }) => [id, method, speedup]);
  assert.deepEqual(found, [
    ["p0", "plain", 1],
    ["p1", "hydra", 1.3],
    ["p2", "plain", 1], // within the race's interval
  ]);
});

const REPORT = {
  model: "tiny",
  backend: "int4",
  device: "CPU",
  machine: "a processor, 2 threads",
  created: "2026-01-02T03:04:05+00:00",
  tree: "auto",
  max_new_tokens: 64,
  prompts: 2,
  methods: {
    plain: { tokens: 9, tokens_per_second: 50, tokens_per_step: 1, speedup: null, shares: null },
    medusa: { tokens: 9, tokens_per_second: 75, tokens_per_step: 1.8, speedup: 1.5, shares: null },
  },
  details: {
    medusa: {
      half_width: 0.1,
      total_speedup: 1.49,
      plain_tokens_per_second: 50.4,
      acceptance: [{ rate: 0.6 }, { rate: null }],
      memory: { megabytes: 12.34, share: 0.05 },
      identical_prompts: 2,
      prediction: null,
    },
  },
};

test("the CSV has one line a method, as wide as its head, and quotes what needs it", () => {
  const lines = csv({ ...REPORT, machine: "x" }).split("\r\n");
  assert.equal(lines.pop(), "");
  const [head, plain, medusa] = lines.map((line) => line.split(","));
  assert.deepEqual([plain.length, medusa.length], [head.length, head.length]);
  const named = Object.fromEntries(head.map((name, i) => [name, medusa[i]]));
  assert.deepEqual(
    [named.speedup, named.half_width, named.acceptance_by_depth],
    ["1.5", "0.1", "0.6 "],
  );
  const methods = { 'a,"b"': REPORT.methods.plain };
  assert.ok(csv({ ...REPORT, methods, details: {} }).includes('\r\n"a,""b""",9,'));
});

test("the Markdown table says what was measured, with both speeds", () => {
  const text = markdown(REPORT);
  assert.match(text, /\| `plain` \| 50\.0 \| – \| 1 \| 1 \| 1\.00 \|/);
  assert.match(
    text,
    /\| `medusa` \| 75\.0 \| 50\.4 \| 1\.50× ± 0\.10 \| 1\.49× \| 1\.80 \| 60 % – \|/,
  );
  assert.match(text, /12\.3 MB \(5\.0 %\) \| 2 of 2 \|/);
  assert.match(
    text,
    /\n\ntiny, int4 on a processor, 2 threads, 2026-01-02: 2 prompts, up to 64 tokens each, greedy, tree auto .*\n$/,
  );
});

test("a tree that was not fitted to the machine is not called fitted", () => {
  assert.match(markdown(REPORT), /tree auto for heads, the other methods' parameters at their/);
  assert.ok(csv(REPORT).includes(",fitted to the machine,"));
  const chosen = { ...REPORT, tree: "chain:3" };
  assert.match(markdown(chosen), /tree chain:3 for heads, no method's parameters fitted/);
  assert.deepEqual(csv(chosen).match(/,(fitted to the machine|untuned),/g), [
    ",fitted to the machine,", // plain decoding has nothing to fit
    ",untuned,",
  ]);
});

test("one speedup far from the others does not stretch the axis", () => {
  const [, high] = rangeOf([1.1, 1.2, 7.3, 1.15, 1.3]);
  assert.ok(high < 3);
  const [low, most] = rangeOf([0.4, 1.2, 1.6]);
  assert.ok(low < 0.4 && most > 1.6);
  assert.ok(rangeOf([])[1] > 1.3);
});
