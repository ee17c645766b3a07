// A run as it grows, and what follows from its records: parents, clocks, origins of tokens.

/**
 * @import { AttentionHead, Header, Lane as LaneRecord, Piece, Position, RaceFigures } from "../../types/records.js"
 * @import { Step, TopTokens, Trace as TraceRecord, TreeShape } from "../../types/records.js"
 * @import { EmittedToken, Shape } from "../../types/page.js"
 */

import { shapeOf } from "./shape.js";
import { finishedBy, median, stepMs } from "./times.js";

export const FORMAT_VERSION = 2;
export const MAX_ATTENTION = 4096; // heads that a file may carry
/** @type {TopTokens[]} */
const NO_HEADS = [];

/** One method's run over a prompt, alone or as a lane of a race. */
export class Lane {
  /** @type {Header | null} */
  header = null;
  /** @type {TreeShape[]} */
  trees = [];
  /** @type {Step[]} */
  steps = [];
  /** @type {number[]} Seconds of the lane's own work after each step … */
  clock = [];
  /** @type {number[]} … and tokens by then. */
  tokensBy = [];
  /** @type {EmittedToken[]} */
  tokens = [];
  /** @type {Shape[]} */
  #shapes = [];
  /** @type {Map<number, Position>} */
  #positions = new Map();
  /** @type {{ count: number, value: number | null }} */
  #median = { count: -1, value: null };

  /** @param {LaneRecord} record */
  fill(record) {
    this.start(record.header);
    record.trees.forEach((tree) => this.addTree(tree));
    record.steps.forEach((step) => this.addStep(step));
    return this;
  }

  /** The index of the newest step; null before the first. */
  get newest() {
    return this.steps.length ? this.steps.length - 1 : null;
  }

  /** @param {Header} header */
  start(header) {
    this.header = header;
    if (header.prompt_position) this.#remember([header.prompt_position]);
  }

  /** @param {TreeShape} tree */
  addTree(tree) {
    this.trees.push(tree);
    this.#shapes.push(shapeOf(tree.paths));
  }

  /** @param {Step} step */
  addStep(step) {
    this.steps.push(step);
    this.#remember(step.positions);
    this.clock.push((this.clock.at(-1) ?? 0) + stepMs(step) / 1000);
    this.tokensBy.push((this.tokensBy.at(-1) ?? 0) + step.emitted.length);
    step.emitted.forEach((id, depth) =>
      this.tokens.push({ id, depth, step: this.steps.length - 1 }),
    );
  }

  /**
   * Predictions at earlier positions, recorded at the end of a run.
   * @param {Position[]} positions
   */
  addPositions(positions) {
    this.#remember(positions);
    const last = this.steps.at(-1);
    if (last) last.positions = [...last.positions, ...positions];
  }

  /** What a file holds of the lane. */
  laneRecord() {
    return { header: this.header, trees: this.trees, steps: this.steps };
  }

  /**
   * parents, depths, children and ranks of a step's rows.
   * @param {Step} step
   */
  shape(step) {
    return this.#shapes[step.tree];
  }

  /**
   * Rows from the root to `row`, both included.
   * @param {Step} step
   * @param {number} row
   */
  line(step, row) {
    const { parents } = this.shape(step);
    const rows = [];
    for (let at = row; at >= 0; at = parents[at]) rows.unshift(at);
    return rows;
  }

  /**
   * What the heads predicted from the token before the root: that is where drafts come from.
   * @param {Pick<Step, "context_length">} step
   */
  headsBefore(step) {
    return this.headsAt(step.context_length - 1);
  }

  /**
   * What the heads predicted from the hidden state of a position.
   * @param {number} position
   */
  headsAt(position) {
    return this.#positions.get(position)?.heads ?? NO_HEADS;
  }

  get rule() {
    const { acceptance, temperature } = this.header?.settings ?? { acceptance: "greedy" };
    if (acceptance !== "auto") return acceptance;
    return temperature === 0 ? "greedy" : "sample";
  }

  /** The median time of a step so far, in milliseconds; null without one. */
  get usualMs() {
    if (this.#median.count !== this.steps.length) {
      this.#median = { count: this.steps.length, value: median(this.steps.map(stepMs)) };
    }
    return this.#median.value;
  }

  /**
   * Ids of the tokens in the KV cache before a step.
   * @param {Pick<Step, "context_length">} step
   */
  prefixIds(step) {
    const prompt = this.header?.prompt_ids ?? [];
    const emitted = this.tokens.slice(0, step.context_length - prompt.length).map((t) => t.id);
    return [...prompt, ...emitted];
  }

  /**
   * The last step that was finished by a time in seconds; 0 before the first.
   * @param {number} seconds
   */
  stepAt(seconds) {
    return Math.max(0, finishedBy(this.clock, seconds) - 1);
  }

  /**
   * How many tokens were written by a time in seconds.
   * @param {number} seconds
   */
  tokensAt(seconds) {
    return this.tokensBy[finishedBy(this.clock, seconds) - 1] ?? 0;
  }

  /** @param {Position[]} positions */
  #remember(positions) {
    for (const position of positions) this.#positions.set(position.index, position);
  }
}

/** A run, and its rival where it was a race. */
export class Trace extends Lane {
  /** @type {Map<number, Piece>} */
  pieces = new Map();
  /** @type {Lane | null} */
  rival = null;
  /** @type {RaceFigures | null} Computed in Python: explorer/analysis/speedup.py. */
  figures = null;
  /** @type {AttentionHead[]} At hand: those of the file, and those that were looked at since. */
  attention = [];

  /**
   * A whole trace as it lies in a file.
   * @param {TraceRecord} record
   */
  static of(record) {
    const trace = new Trace();
    for (const [id, piece] of Object.entries(record.pieces)) trace.addPiece(Number(id), piece);
    trace.fill(record);
    if (record.rival) trace.rival = new Lane().fill(record.rival);
    trace.figures = record.figures ?? null;
    (record.attention ?? []).forEach((head) => trace.addAttention(head));
    return trace;
  }

  /**
   * The lane of an event: 0 is the run itself, 1 its rival.
   * @param {number} number
   */
  lane(number) {
    if (number === 0) return this;
    this.rival ??= new Lane();
    return this.rival;
  }

  /** Seconds that the longer lane took. */
  get seconds() {
    return Math.max(this.clock.at(-1) ?? 0, this.rival?.clock.at(-1) ?? 0);
  }

  /** Where to rest: the step that shows most, by explorer/analysis; null before there is one. */
  get tellingStep() {
    const telling = this.figures?.telling_step ?? this.newest;
    return telling === null || this.newest === null ? null : Math.min(telling, this.newest);
  }

  /**
   * @param {number} id
   * @param {Piece} piece
   */
  addPiece(id, piece) {
    const { text = null, bytes = null } = piece;
    const label = piece.label ?? text ?? `⟨${bytes}⟩`; // older files lack it
    this.pieces.set(id, { text, bytes, label });
  }

  /** @param {AttentionHead} head */
  addAttention(head) {
    const same = (/** @type {AttentionHead} */ one) =>
      one.step === head.step && one.layer === head.layer && one.head === head.head;
    if (this.attention.length < MAX_ATTENTION && !this.attention.some(same))
      this.attention.push(head);
  }

  /** The record that a file holds, key for key as explorer.records writes it. */
  record() {
    /** @type {Record<string, Piece>} */
    const pieces = {};
    for (const [id, piece] of [...this.pieces].sort((a, b) => a[0] - b[0])) pieces[id] = piece;
    return {
      ...this.laneRecord(),
      format_version: FORMAT_VERSION,
      pieces,
      rival: this.rival?.laneRecord() ?? null,
      figures: this.figures,
      attention: this.attention,
    };
  }

  /**
   * @param {number} id
   * @returns {Piece}
   */
  piece(id) {
    return this.pieces.get(id) ?? { text: `⟨token ${id}⟩`, bytes: null, label: `⟨token ${id}⟩` };
  }
}

/**
 * Rows of a lookahead window, in the same pass as the tree's; its corner is the tree's root.
 * @param {{ lookahead?: Step["lookahead"] }} step
 */
export const extraRows = ({ lookahead }) =>
  Math.max(0, (lookahead?.window ?? []).flat().length - 1);

/**
 * What a lane is called.
 * @param {{ header: Header | null }} lane
 */
export function nameOf({ header }) {
  if (header?.settings.method === "plain") return "Plain decoding"; // older traces: "Plain"
  const words = (header?.settings.method ?? "").replaceAll("-", " ");
  // Traces from before they said it: "draft-model" is "Draft model".
  return header?.shown?.title ?? words.slice(0, 1).toUpperCase() + words.slice(1);
}
