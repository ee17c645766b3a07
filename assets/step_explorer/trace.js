// A run as it grows, and what follows from its records: parents, clocks, origins of tokens.

/**
 * @import { AttentionHead, Header, Piece, PlainToken, Position } from "../../types/records.js"
 * @import { Step, Timings, TopTokens, Trace as TraceRecord, TreeShape } from "../../types/records.js"
 * @import { EmittedToken, Shape } from "../../types/page.js"
 */

export const FORMAT_VERSION = 1;
export const MAX_ATTENTION = 4096; // heads that a file may carry
/** @type {TopTokens[]} */
const NO_HEADS = [];

export class Trace {
  /** @type {Header | null} */
  header = null;
  /** @type {Map<number, Piece>} */
  pieces = new Map();
  /** @type {TreeShape[]} */
  trees = [];
  /** @type {Step[]} */
  steps = [];
  /** @type {PlainToken[]} */
  plain = [];
  /** @type {number | null} */
  plainPrefill = null;
  /** @type {number[]} Seconds of the speculative lane's own work after each step … */
  clock = [];
  /** @type {number[]} … and tokens by then. */
  tokensBy = [];
  /** @type {number[]} Seconds of the plain lane's own work after each token. */
  plainClock = [];
  /** @type {EmittedToken[]} */
  tokens = [];
  /** @type {AttentionHead[]} At hand: those of the file, and those that were looked at since. */
  attention = [];
  /** @type {Shape[]} */
  #shapes = [];
  /** @type {Map<number, Position>} */
  #positions = new Map();
  /** @type {{ count: number, value: number | null }} */
  #median = { count: -1, value: null };

  /**
   * A whole trace as it lies in a file.
   * @param {TraceRecord} record
   */
  static of(record) {
    const trace = new Trace();
    trace.start(record.header);
    for (const [id, piece] of Object.entries(record.pieces)) trace.addPiece(Number(id), piece);
    record.trees.forEach((tree) => trace.addTree(tree));
    record.steps.forEach((step) => trace.addStep(step));
    trace.plainPrefill = record.plain_prefill_ms ?? null;
    (record.plain ?? []).forEach((token) => trace.addPlain(token));
    (record.attention ?? []).forEach((head) => trace.addAttention(head));
    return trace;
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

  /**
   * @param {number} id
   * @param {Piece} piece
   */
  addPiece(id, piece) {
    this.pieces.set(id, { text: piece.text ?? null, bytes: piece.bytes ?? null });
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
   * Predictions at earlier positions, told at the end of a run.
   * @param {Position[]} positions
   */
  addPositions(positions) {
    this.#remember(positions);
    const last = this.steps.at(-1);
    if (last) last.positions = [...last.positions, ...positions];
  }

  /** @param {PlainToken} token */
  addPlain(token) {
    this.plain.push(token);
    this.plainClock.push((this.plainClock.at(-1) ?? 0) + token.milliseconds / 1000);
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
      format_version: FORMAT_VERSION,
      header: this.header,
      pieces,
      trees: this.trees,
      steps: this.steps,
      plain: this.plain,
      plain_prefill_ms: this.plainPrefill,
      attention: this.attention,
    };
  }

  /**
   * @param {number} id
   * @returns {Piece}
   */
  piece(id) {
    return this.pieces.get(id) ?? { text: `⟨token ${id}⟩`, bytes: null };
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
    return this.#positions.get(step.context_length - 1)?.heads ?? NO_HEADS;
  }

  get rule() {
    const { acceptance, temperature } = this.header?.settings ?? { acceptance: "greedy" };
    if (acceptance !== "auto") return acceptance;
    return temperature === 0 ? "greedy" : "sample";
  }

  /** The median time of a plain step so far, in milliseconds; null without one. */
  get plainMs() {
    if (this.#median.count !== this.plain.length) {
      const value = median(this.plain.map((token) => token.milliseconds));
      this.#median = { count: this.plain.length, value };
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
   * How many tokens plain decoding had written by a time in seconds.
   * @param {number} seconds
   */
  plainAt(seconds) {
    return finishedBy(this.plainClock, seconds);
  }

  get seconds() {
    return Math.max(this.clock.at(-1) ?? 0, this.plainClock.at(-1) ?? 0);
  }

  /** @param {Position[]} positions */
  #remember(positions) {
    for (const position of positions) this.#positions.set(position.index, position);
  }
}

/**
 * A step's time on its lane's clock: everything but recording.
 * @param {{ timings: Timings }} step
 */
export function stepMs(step) {
  const { heads, draft, verify, accept, commit } = step.timings;
  return heads + draft + verify + accept + commit;
}

/** @param {number[]} values */
export function median(values) {
  if (values.length === 0) return null;
  const sorted = Float64Array.from(values).sort();
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/**
 * How many of the ascending times are at most `seconds` (with room for rounding).
 * @param {number[]} times
 * @param {number} seconds
 */
function finishedBy(times, seconds) {
  let [low, high] = [0, times.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle] <= seconds + 1e-9) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * @param {number[][]} paths
 * @returns {Shape}
 */
function shapeOf(paths) {
  const row = new Map([["", 0]]);
  /** @type {Shape} */
  const shape = { parents: [-1], depths: [0], ranks: [0], children: [[]], paths };
  paths.forEach((path, i) => {
    const parent = row.get(path.slice(0, -1).join()) ?? 0;
    row.set(path.join(), i + 1);
    shape.parents.push(parent);
    shape.depths.push(path.length);
    shape.ranks.push(path[path.length - 1]);
    shape.children.push([]);
    shape.children[parent].push(i + 1);
  });
  return shape;
}

/**
 * What the lane that races plain decoding is called.
 * @param {{ header: Header | null }} trace
 */
export function nameOf({ header }) {
  const method = header?.settings.method ?? "medusa";
  if (method === "plain") return "Plain again";
  // Traces from before they said it: "draft-model" is "Draft model".
  const words = method.replaceAll("-", " ");
  return header?.shown?.title ?? words.slice(0, 1).toUpperCase() + words.slice(1);
}
