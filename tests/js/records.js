// Small records, written by hand, that the tests change and read.

import { Trace } from "../../assets/step_explorer/trace.js";
import { View } from "../../assets/step_explorer/verdicts.js";

/** Rows: 0 root, 1 "b", 2 "c" below the root; 3 "d" below 1, 4 "e" below 2. */
export const PATHS = [[0], [1], [0, 0], [1, 0]];

const top = (...ids) => ({ ids, probs: ids.map((_, i) => (i === 0 ? 0.62 : 0.1)) });

export const header = (changes = {}) => ({
  created: "2026-01-02T03:04:05Z",
  explorer_version: "0",
  model: "tiny",
  tuned: null,
  heads: "heads",
  num_heads: 2,
  backend: "int4",
  device: "CPU",
  versions: {},
  settings: {
    method: "medusa",
    tree: "cartesian:2,1",
    acceptance: "auto",
    temperature: 0,
    top_p: 1,
    top_k: 0,
    epsilon: 0.09,
    delta: 0.3,
    seed: 0,
    max_new_tokens: 128,
    system_prompt: null,
    raw_prompt: false,
  },
  prompt: "Hello",
  prompt_ids: [1, 2, 3],
  continued_tokens: 0,
  prompt_position: { index: 2, base_choice: 10, heads: [top(11, 12), top(13, 14)] },
  prefill_ms: 20,
  eos_ids: [0],
  ...changes,
});

/** A step that accepts row 1 and rejects its child: two tokens gained. */
export const step = (changes = {}) => ({
  index: 0,
  context_length: 3,
  tree: 0,
  token_ids: [10, 11, 12, 13, 14],
  draft_probs: [1, 0.5, 0.25, 0.4, 0.2],
  joint_probs: [1, 0.5, 0.25, 0.2, 0.05],
  base_probs: [1, 0.62, 0.1, 0.005, 0.3],
  base_ranks: [0, 0, 1, 7, 0],
  choices: [11, 15, 16, 17, 18],
  thresholds: null,
  verdicts: ["root", "accepted", "rejected", "rejected", "pruned"],
  base_top: [top(11, 12), top(15, 13), top(16), top(17), top(18)],
  accepted: [0, 1],
  emitted: [10, 11],
  bonus: 15,
  bonus_prob: 0.62,
  positions: [],
  timings: { heads: 2, draft: 0.5, verify: 25, accept: 0.2, commit: 0.3, record: 1 },
  draft_top: null,
  price: null,
  lookahead: null,
  reasons: ["root", "greedy", "greedy-sibling", "greedy-end", "below"],
  stages: ["step", "draft-medusa", "tree", "mask", "verify", "accept", "commit"],
  ...changes,
});

/** A step of the root alone. */
export const rootStep = (changes = {}) =>
  step({
    tree: 1,
    token_ids: [10],
    draft_probs: [1],
    joint_probs: [1],
    base_probs: [1],
    base_ranks: [0],
    choices: [11],
    verdicts: ["root"],
    base_top: [top(11)],
    accepted: [0],
    emitted: [10],
    bonus: 11,
    reasons: ["root"],
    stages: [
      "step-bare",
      "draft-none",
      "tree-bare",
      "mask-bare",
      "verify",
      "accept-bare",
      "commit",
    ],
    ...changes,
  });

/** A plain lane of one-row steps. */
export const plain = (count, milliseconds = 20) => ({
  header: header({
    heads: null,
    num_heads: 0,
    prompt_position: null,
    settings: { ...header().settings, method: "plain" },
  }),
  trees: [{ name: "root", paths: [] }],
  steps: Array.from({ length: count }, (_, index) =>
    rootStep({
      index,
      context_length: 3 + index,
      tree: 0,
      timings: { heads: 0, draft: 0, verify: milliseconds, accept: 0, commit: 0, record: 1 },
    }),
  ),
});

/** A valid record of a trace. */
export const record = (changes = {}) => ({
  format_version: 2,
  header: header(),
  pieces: Object.fromEntries(
    [..."abcdefghijklmnopqrs"].map((text, i) => [i, { text, bytes: null, label: text }]),
  ),
  trees: [
    { name: "cartesian:2,1", paths: PATHS },
    { name: "root", paths: [] },
  ],
  steps: [step()],
  rival: plain(2),
  figures: null,
  attention: [],
  ...changes,
});

export const trace = (changes = {}) => Trace.of(record(changes));

/** The first step of a trace with these changes to the step and to its settings. */
export const view = (changes = {}, settings = {}) => {
  const base = header();
  return new View(
    trace({
      header: { ...base, settings: { ...base.settings, ...settings } },
      steps: [step(changes)],
    }),
    0,
  );
};
