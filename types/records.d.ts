// The records that the server sends. Written by tools/page_types.py from the models in Python:
// change those, then run it again.

/** One method: tokens per second of both, their ratio, and the number of equal texts. */
export interface AssistedReference {
  prompts: number;
  ours_tokens_per_second: number | null;
  generate_tokens_per_second: number | null;
  ours_over_generate: number | null;
  identical_prompts: number;
}

/** The weights of one head. Steps, layers and heads count from 0, up to `layers` and `heads`. */
export interface AttentionHead {
  step: number;
  layer: number;
  head: number;
  layers: number;
  heads: number;
  slots: number[];
  weights: string;
}

/** What the model needs to compute a step's weights: it computes one layer for all heads. */
export interface AttentionQuestion {
  model: string;
  backend: string;
  step: number;
  prefix: number[];
  token_ids: number[];
  parents: number[];
  layer?: number | null;
  head?: number | null;
}

/** The gain by batch size, and the batch size at which it ends. */
export interface BatchReport {
  model: string;
  heads: string;
  backend: string;
  device: string;
  method: string;
  context_length: number;
  /** positions of text behind τ */
  positions: number;
  tree: number[][];
  rows: number;
  tokens_per_step: number;
  tokens_per_step_by_rows: Record<string, number>;
  sizes: BatchSize[];
  most_rows_per_second: number;
  gone_from: number | null;
  best_gone_from: number | null;
  sentence: string;
}

/** One batch size. Times and rates of passes are measured, Medusa's figures estimated. */
export interface BatchSize {
  batch: number;
  cost_curve: CostCurve;
  rows_per_second: number[];
  heads_ms: number;
  rest_ms: number;
  /** measured, all sequences together */
  plain_tokens_per_second: number;
  /** the method's: estimate, with the best fixed tree */
  tokens_per_second: number;
  /** estimate, with the best fixed tree */
  speedup: number;
  /** estimate */
  speedup_by_rows: Record<string, number>;
  best_rows: number;
  /** estimate; 1 where plain decoding is fastest */
  best_speedup: number;
}

/** The whole benchmark. `speedup` and `per_category` are the main method's over plain. */
export interface BenchReport {
  model: string;
  heads: string | null;
  backend: string;
  device: string;
  /** processor or GPU, and number of threads */
  machine: string;
  /** ISO 8601, UTC; empty in older reports */
  created: string;
  main_method: string | null;
  max_new_tokens: number;
  tree: string;
  prompts: number;
  identical_prompts: number;
  speedup: number | null;
  half_width: number | null;
  methods: Record<string, MethodFigures>;
  per_category: Record<string, CategoryFigures>;
  overhead: Overhead[];
  cost_curve: CostCurve | null;
  floor?: Floor | null;
  peak_memory?: PeakMemory | null;
  reference?: Reference | null;
  assisted_reference: Record<string, AssistedReference>;
  details: Record<string, MethodDetails>;
  unavailable: Record<string, string>;
  plain_over_generate?: number | null;
  llama_cpp?: LlamaCpp | null;
  races: PromptFigures[];
  sentence: string;
  /** The verdict on all methods, in a sentence. */
  fastest: string;
  /** Why the timings say little, in a sentence; empty where the machine was at rest. */
  busy: string;
  /** Whether each method is faster than plain by more than its interval, or not clearly. */
  verdicts: Record<string, "even" | "fast" | "slow">;
  /** The cost curve in a line; empty if it was not measured. */
  curve_sentence: string;
  /** How to read the predictions; empty without prompts. */
  predictions_sentence: string;
  /** Whether the texts are plain's: a sentence on each method, and one on all (""). */
  evidence: Record<string, string>;
  /** What the heads add to the model's size, in a sentence; empty without heads. */
  heads_memory: string;
}

/** One method's races of one category of prompts; `half_width` as in BenchReport. */
export interface CategoryFigures {
  prompts: number;
  speedup: number | null;
  half_width: number | null;
  tokens_per_step: number | null;
}

/** Measured cost of a verify pass by its number of rows (the root counted). */
export interface CostCurve {
  /** tokens in the KV cache during the passes */
  context_length: number;
  rounds: number;
  one_row_ms: number;
  rows: number[];
  milliseconds: number[];
  ratios: number[];
}

/** Of the steps that reached a depth: how many accepted a node there. */
export interface DepthFigures {
  depth: number;
  accepted: number;
  first_rejections: number;
  rate: number | null;
}

/** The first difference of a method's tokens from plain's; an ended text has no token there. */
export interface Difference {
  position: number;
  plain_token: number | null;
  plain_text: string | null;
  method_token: number | null;
  method_text: string | null;
  verdict?: "tie" | "divergence" | null;
  explanation?: string | null;
}

/** Bytes in addition to the base model's. Tensors of the base model are not counted again. */
export interface ExtraMemory {
  weights_bytes: number;
  cache_bytes: number;
  context_length: number;
  base_bytes: number;
  parameters?: number | null;
  base_parameters?: number | null;
  /** Extra bytes over the base model's. */
  share: number;
  /** Extra memory in 10⁶ bytes. */
  megabytes: number;
}

/** Plain decoding's floor at `context_length` tokens, and those of other methods. */
export interface Floor {
  context_length: number;
  bytes: number;
  read_bandwidth_gb_s: number;
  floor_ms: number;
  plain_step_ms: number | null;
  step_over_floor: number | null;
  methods: Record<string, MethodFloor>;
  sentence: string;
}

/** What made the run: model, heads, settings, machine. */
export interface Header {
  /** ISO 8601, UTC */
  created: string;
  explorer_version: string;
  model: string;
  /** if an adapter changed the model: what the output is lossless to */
  tuned?: string | null;
  heads: string | null;
  num_heads: number;
  backend: string;
  device: string;
  versions: Record<string, string>;
  settings: Settings;
  /** None in older traces */
  shown?: Shown | null;
  prompt: string;
  prompt_ids: number[];
  /** how many of prompt_ids, at the end, the model wrote in earlier runs */
  continued_tokens: number;
  /** predictions from the last prompt token */
  prompt_position: Position | null;
  prefill_ms: number;
  eos_ids: number[];
}

/** One token of the text, and by method how many tokens ahead it was drafted; 0: never. */
export interface KnownToken {
  text: string;
  ahead: Record<string, number>;
}

/** One method's run over a prompt, alone or as a lane of a race. */
export interface Lane {
  header: Header;
  trees: TreeShape[];
  steps: Step[];
}

/** The figures of one lane; those of time and steps are None before its first step. */
export interface LaneFigures {
  tokens: number;
  steps: number;
  seconds: number;
  tokens_per_second: number | null;
  tokens_per_step: number | null;
  /** mean time of a step */
  step_ms: number | null;
}

/** Tokens per second of llama.cpp, plain decoding and the fastest method raced, and ratios. */
export interface LlamaCpp {
  prompts: number;
  max_new_tokens: number;
  threads: number;
  version: string;
  tokens_per_second: number | null;
  plain_tokens_per_second: number | null;
  plain_over_llama_cpp: number | null;
  best_method: string | null;
  best_tokens_per_second: number | null;
  best_over_llama_cpp: number | null;
  identical_prompts: number;
  same_prompt_tokens: boolean;
  idle_cpu: number | null;
  our_idle_cpu: number | null;
}

/** The state of lookahead decoding in a step. */
export interface LookaheadState {
  /** [levels][W] */
  window: number[][];
  /** the pool's n-grams after the root, newest first */
  guesses: number[][];
  /** n-grams in the whole pool */
  pool_size: number;
}

/** One method over all prompts. */
export interface MethodDetails {
  explanation: string;
  identical_prompts: number;
  plain_tokens_per_second: number | null;
  total_speedup?: number | null;
  half_width: number | null;
  acceptance: DepthFigures[];
  emitted_per_step: Record<string, number>;
  per_category: Record<string, CategoryFigures>;
  memory: ExtraMemory | null;
  prediction: Prediction | null;
}

/** All runs of one method. Seconds are its own steps', without prefill and recording. */
export interface MethodFigures {
  tokens: number;
  steps: number;
  seconds: number;
  tokens_per_second: number | null;
  tokens_per_step: number | null;
  step_ms: number | null;
  speedup: number | null;
  shares: Shares | null;
}

/** The floor of a method's steps, and the mean time that they took. */
export interface MethodFloor {
  bytes: number;
  floor_ms: number;
  step_ms: number | null;
  step_over_floor: number | null;
}

/** One method. `tokens_per_step` walks through the text; None where a position is unknown. */
export interface MethodKnowledge {
  /** share of tokens that it would have drafted */
  known: number;
  /** share that it alone would have drafted */
  alone: number;
  farthest: number;
  tokens_per_step: number | null;
}

/** One tree: the parts of its step, and the cost of recording. */
export interface Overhead {
  tree: string;
  nodes: number;
  n: number;
  steps: number;
  step_ms: number;
  shares: Shares | null;
  recording: number | null;
  writing_ms: number | null;
}

/** `bytes` at the most, and `of` what they are. */
export interface PeakMemory {
  bytes: number;
  of: string;
}

/** How one token is written. `text` is None where its bytes alone are not valid UTF-8. */
export interface Piece {
  text: string | null;
  /** hex of the raw bytes, only where text is None */
  bytes?: string | null;
  /** The token alone: ␣ ↵ ⇥, bytes as ⟨F0⟩, control and format characters by name. */
  label: string;
}

/** What was predicted from one emitted position (or from the last token of the prompt). */
export interface Position {
  index: number;
  base_choice: number;
  heads: TopTokens[];
}

/** Formulas and the measured speedup; errors are predicted / measured − 1. */
export interface Prediction {
  chain: boolean;
  alpha: number | null;
  drafted: number;
  rows: number;
  cost: number;
  draft: number;
  rest: number;
  tokens_per_step: number;
  product: number | null;
  speedup_idealised: number;
  speedup_at_cost: number;
  pays_as_published: boolean;
  pays_corrected: boolean;
  measured_tokens_per_step: number;
  measured_speedup: number;
  error_idealised: number;
  error_at_cost: number;
  /** Whether the published rule contradicts the measured speedup. */
  published_is_wrong: boolean;
  /** Whether the corrected rule contradicts the measured speedup. */
  corrected_is_wrong: boolean;
}

/** One race: a prompt decoded by one method and by plain decoding. */
export interface PromptFigures {
  number: number;
  id: string;
  category: string;
  method: string;
  tokens: number;
  identical: boolean;
  tokens_per_step: number | null;
  tokens_per_second: number | null;
  plain_tokens_per_second: number | null;
  speedup: number | null;
  half_width: number | null;
  pass_ms?: number[] | null;
  difference?: Difference | null;
  /** Whether the method was faster than plain by more than the interval's half-width. */
  clearly_faster: boolean;
}

/** A lane against its rival, as measured so far. Figures without a measurement are None. */
export interface RaceFigures {
  lane: LaneFigures;
  rival: LaneFigures;
  speedup: number | null;
  half_width: number | null;
  estimate: boolean;
  break_even: number | null;
  kind: "none" | "slow" | "even" | "fast" | "unclear" | "busy";
  words: string;
  reason: string;
  suggestion?: Suggestion | null;
  telling_step?: number | null;
}

/** Tokens per second of both, prefill excluded, and how many texts were the same. */
export interface Reference {
  prompts: number;
  plain_tokens_per_second: number | null;
  generate_tokens_per_second: number | null;
  plain_over_generate: number | null;
  identical_prompts: number;
}

/** The settings of the run; the parameters of methods are extra fields. */
export interface Settings {
  method: string;
  tree: string;
  acceptance: string;
  temperature: number;
  top_p: number;
  top_k: number;
  epsilon: number;
  delta: number;
  root_rule: string;
  seed: number;
  max_new_tokens: number;
  system_prompt?: string | null;
  raw_prompt: boolean;
}

/** Share of a step's time by part, 0…1. `outside` = draft + accept + commit; they sum to 1. */
export interface Shares {
  heads: number;
  draft: number;
  verify: number;
  accept: number;
  commit: number;
  outside: number;
}

/** The method's name on a page, and who guesses at a {depth}. */
export interface Shown {
  title: string;
  drafter: string;
  /** None in older traces */
  by_heads?: boolean | null;
  /**
   * whether the recorded guesses of heads were made given the tokens before them, as the text has
   * them; None in older traces
   */
  along_path?: boolean | null;
}

/** One step. Row-wise lists have length n and follow the tree's row order. */
export interface Step {
  index: number;
  /** tokens in the KV cache before the verify pass */
  context_length: number;
  /** index into Trace.trees */
  tree: number;
  token_ids: number[];
  /** by the drafter, given the path; root: 1 */
  draft_probs: number[];
  /** product of draft_probs along the path */
  joint_probs: number[];
  /** of the row's token, by the base model at its parent's row, as the rule sees it */
  base_probs: number[];
  /** 0: the base model's first */
  base_ranks: number[];
  /**
   * the token that the rule chose below each row: the argmax, or the token drawn; −1 where it
   * chose none
   */
  choices: number[];
  /** typical acceptance: what a row's base_prob had to exceed */
  thresholds?: number[] | null;
  /** rejection sampling: the candidates that were tried, in their order */
  trials?: Trial[] | null;
  /**
   * rejection sampling: the best of norm(max(0, p − q)), which the bonus was drawn from after a
   * rejection
   */
  residual?: TopTokens | null;
  verdicts: ("root" | "accepted" | "rejected" | "pruned")[];
  /** base model's best at each row; empty: no pass */
  base_top: TopTokens[];
  /** rows of the accepted path, root first */
  accepted: number[];
  /** tokens this step added to the text */
  emitted: number[];
  bonus: number | null;
  bonus_prob: number | null;
  /**
   * the position that chose the root (the first step's is in the header), and positions of this or
   * earlier steps that are recorded late; see their `index`
   */
  positions: Position[];
  timings: Timings;
  /** None: unknown, or no pass was needed */
  floor?: StepFloor | null;
  /**
   * heads that see their path: their guesses below each row, best first; where candidates were
   * drawn: what those below each row were drawn from
   */
  draft_top?: TopTokens[] | null;
  /**
   * `auto` trees only: the price of the verified nodes, in tokens that would be written in the
   * same time
   */
  price?: number | null;
  /**
   * `auto` trees only: the accepted drafts expected of the nodes, which were worth their price:
   * the sum of their joint_probs times the trust in them
   */
  promise?: number | null;
  lookahead?: LookaheadState | null;
  /** code of each row (records/sentences.py) */
  reasons?: string[] | null;
  /** codes of the step's sentence and its six stages */
  stages?: string[] | null;
  /** How many times its floor the step took; None where no floor is known. */
  over_floor: number | null;
}

/** What a step had to read and to multiply, and how long that takes at measured rates. */
export interface StepFloor {
  /** weights of model and heads, keys and values */
  bytes: number;
  milliseconds: number;
  arithmetic_ms?: number | null;
}

/** What a reader can do next: look at a step, or run again with some settings changed. */
export interface Suggestion {
  does: "look" | "run";
  label: string;
  step?: number | null;
  settings: Record<string, string | number>;
}

/** Where the time of a step went, in milliseconds. `record` is no part of a lane's clock. */
export interface Timings {
  heads: number;
  draft: number;
  verify: number;
  accept: number;
  commit: number;
  record: number;
}

/** The likeliest tokens of one distribution, best first. */
export interface TopTokens {
  ids: number[];
  probs: number[];
}

/** A complete, replayable record of a run; of a race, where it has a rival. */
export interface Trace {
  header: Header;
  trees: TreeShape[];
  steps: Step[];
  format_version: 2;
  pieces: Record<string, Piece>;
  /** the other lane of the race, which took turns */
  rival?: Lane | null;
  /** of the race, for who only draws it */
  figures?: RaceFigures | null;
  /** weights of some heads and steps */
  attention: AttentionHead[];
}

/** The shape of a candidate tree: its non-root rank paths, parents before children. */
export interface TreeShape {
  name: string;
  paths: number[][];
}

/** A drawn candidate, tried by rejection sampling: p and q of its token, as they were just then. */
export interface Trial {
  row: number;
  p: number;
  q: number;
  chance: number;
  coin: number;
}

/** All methods on one text. */
export interface WhoKnew {
  tokens: KnownToken[];
  methods: Record<string, MethodKnowledge>;
  overlap: Record<string, number>;
  nobody: number;
  router_tokens_per_step: number;
  sentence: string;
  notes: string[];
}
