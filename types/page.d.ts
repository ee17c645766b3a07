// What the page's modules share: messages of the server that no Python model describes, and
// what Gradio hands to the snippets that run inside gr.HTML.

import type {
  AttentionHead,
  BatchReport,
  BenchReport,
  Header,
  PromptFigures,
  RaceFigures,
  Step,
  TreeShape,
  WhoKnew,
} from "./records.js";

export type Verdict = Step["verdicts"][number];

/** A tree's rows: row 0 is the root, row i ≥ 1 stands for paths[i − 1]. */
export interface Shape {
  parents: number[];
  depths: number[];
  ranks: number[];
  children: number[][];
  paths: number[][];
}

/** A token of a lane: where it came from. */
export interface EmittedToken {
  id: number;
  depth: number;
  step: number;
}

/** An entry of assets/traces/index.json; `file` where the run was recorded. */
export interface Example {
  name: string;
  prompt: string;
  hint: string;
  file?: string;
  settings?: Record<string, unknown>;
}

/** What a setting's input takes: the values of a choice, the range of a number; null: any text. */
export type Offer =
  | string[]
  | { minimum: number; maximum: number | null; whole: boolean }
  | null
  | undefined;

export type RecordedExample = Example & { file: string; base: URL };

/** A message of explorer.ui.wire.Wire: a run's events from number `first` on. */
export interface Message {
  run: string;
  first: number;
  events: WireEvent[];
  live: boolean;
  figures?: RaceFigures;
}

/** Id and text in turn; where the text is not the label, too, [label, text, hex of the bytes]. */
export type PackedPieces = (number | string | PackedPiece)[];
export type PackedPiece = [label: string, text: string | null, hex?: string];
export type PackedTop = [ids: number[], millionths: number[]];
export type PackedPosition = [index: number, base_choice: number, ...heads: PackedTop[]];

export type WireEvent =
  | ["run", lane: number, Header, PackedPieces]
  | ["step", lane: number, PackedStep, PackedPieces, TreeShape[]]
  | ["positions", lane: number, PackedPosition[], PackedPieces];

/** A step as explorer.ui.wire packs it; probabilities are millionths. */
export interface PackedStep {
  i: number;
  c: number;
  t: number;
  id: number[];
  d: number[];
  j: number[];
  b: number[];
  r: number[];
  w: number[];
  h: number[] | null;
  v: string;
  k: number;
  ti: number[];
  tp: number[];
  a: number[];
  e: number[];
  n: number | null;
  np: number | null;
  p: PackedPosition[];
  o: PackedTop[] | null;
  pr: number | null;
  pm?: number | null;
  y?: number[][] | null;
  z?: PackedTop | null;
  u?: [codes: string[], rows: number[]] | null;
  s?: string[] | null;
  f?: [number, number, number | null] | null;
  fx?: number | null;
  l: Step["lookahead"];
  ms: number[];
}

/** What explorer.ui.attention.AttentionDesk answers. */
export interface AttentionAnswer {
  heads?: AttentionHead[];
  problem?: string;
  able?: boolean;
}

/** Which rows the weights of a head are for, decoded: see attention.js. */
export type Weights = Float64Array[];

/** How a comparison stands, and what is new: explorer.ui.compare_session. */
export interface CompareMessage {
  run: string;
  aside: "" | "batches" | "overlap";
  first: number;
  events: CompareEvent[];
  phase: Phase;
  text: string;
  share: number;
  left: number | null;
  engine?: Engine;
}

export type Phase = "empty" | "waiting" | "running" | "done" | "stopped" | "failed";
export type Report = Omit<BenchReport, "races">;
export type CompareEvent =
  | ["prompts", PromptRecord[]]
  | ["races", PromptFigures[]]
  | ["report", Report | null]
  | ["batches", BatchReport]
  | ["overlap", WhoKnew];

/** The model behind the page: loading, ready or failed. */
export interface Engine {
  phase: string;
  text: string;
  fraction: number | null;
}

export interface PromptRecord {
  id: string;
  category: string;
  prompt: string;
}

/** explorer.ui.compare_page.setup. */
export interface CompareSetup {
  methods: {
    name: string;
    code: string;
    colour: string;
    mark: string;
    explanation: string;
    memory: string;
    source: string;
  }[];
  builtin: PromptRecord[];
  trees: string[];
  words: Record<string, { label: string; about: string }>; // of the settings
  freeTree: boolean;
  maxPrompts: number;
  maxTokens: number;
  maxCharacters: number;
  maxFile: number;
  newTokens: number;
  /** whether anything can be measured here; else there is the recorded comparison */
  runs: boolean;
}

/** A comparison as the JSON button saves it. */
export type SavedComparison = Report & { races: PromptFigures[]; asked_prompts: PromptRecord[] };

/** What the server is asked to compare: explorer.ui.compare_request. */
export interface CompareRequest {
  methods: string[];
  max_new_tokens: number;
  tree: string;
  builtin?: string[];
  own?: string[];
  file?: string;
  aside?: "batches" | "overlap";
}

export interface CompareServer {
  compare(request: CompareRequest): void;
  cancel(): void;
  missed(run: string, first: number): Promise<CompareMessage>;
}

/** A part of the Compare page. `live`: drawn again when only the status has changed. */
export interface CompareView {
  element: Element;
  update(): void;
  live?: boolean;
  reveal?(): void;
}

declare global {
  // What Gradio gives to js_on_load.
  const element: HTMLElement & { explorer?: unknown; compare?: unknown; steps?: unknown };
  const props: { value: string; setup: string; able: string };
  const server: Record<"missed_events", (run: string, first: number) => Promise<string>> &
    Record<"attention_weights", (question: string) => Promise<string>> &
    Record<"upgraded_trace", (file: string) => Promise<string>>;
  function trigger(event: string, data?: unknown): void;
  function watch(name: string, changed: () => void): void;
  interface Window {
    gradio_config?: { root: string };
    explorer?: unknown;
  }
}
