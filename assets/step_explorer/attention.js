// Real attention weights: what a trace carries of them, and what a loaded model computes on request.
// The counterpart of explorer/records/attention.py.

/**
 * @import { Explorer } from "./main.js"
 * @import { Any } from "./store.js"
 * @import { Trace } from "./trace.js"
 * @import { View } from "./verdicts.js"
 * @import { AttentionHead, AttentionQuestion } from "../../types/records.js"
 * @import { AttentionAnswer, Weights } from "../../types/page.js"
 */

const ONE = 65_535; // the 16-bit number that stands for a weight of 1
const REST = 250; // milliseconds on one step before the model is asked
/** @type {WeakMap<AttentionHead, Weights>} */
const decoded = new WeakMap();

/**
 * Per row of the step its weights: the rest of the prefix, the listed slots, the row's own line.
 * @param {AttentionHead} head
 * @param {number[]} depths
 * @returns {Weights}
 */
export function weightsOf(head, depths) {
  const weights = decoded.get(head) ?? decode(head, depths);
  decoded.set(head, weights);
  return weights;
}

/**
 * @param {AttentionHead} head
 * @param {number[]} depths
 */
function decode({ weights, slots }, depths) {
  const bytes = Uint8Array.from(atob(weights), (letter) => letter.charCodeAt(0));
  const numbers = new DataView(bytes.buffer);
  let at = 0;
  const next = () => {
    at += 2;
    return numbers.getUint16(at - 2, true) / ONE;
  };
  return depths.map((depth) => Float64Array.from({ length: 2 + slots.length + depth }, next));
}

/** Which head is on view, and what to say where none is. `ask(question)` asks the server: a promise
 *  of { heads } or { problem, able }; null where there is none. */
export class Attention {
  /** @type {string | null} */
  reason = null; // why no weights are on view, in a sentence
  retry = false; // whether asking again may help
  #app;
  #ask;
  #unable = new WeakSet(); // traces that the model at hand did not make
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  #asking = false;
  /** @type {{ trace: Trace, head: AttentionHead } | null} */
  #last = null;

  /**
   * @param {Explorer} app
   * @param {((question: AttentionQuestion) => Promise<AttentionAnswer>) | null} ask
   */
  constructor(app, ask) {
    this.#app = app;
    this.#ask = ask;
    app.store.subscribe((any) => {
      if (any("trace", "step", "form", "layer", "head", "playing", "live", "follow"))
        this.#consider();
    });
  }

  /** Whether a model may compute what the trace does not carry. */
  get able() {
    return this.#ask !== null && !this.#unable.has(this.#app.trace);
  }

  /** The head on view: the chosen one; where only carried ones are to be had, the first of them. */
  get shown() {
    const { layer, head } = this.#app.state;
    const here = this.carried;
    const fits = (/** @type {AttentionHead} */ one) =>
      (layer === null || one.layer === layer) && (head === null || one.head === head);
    return here.find(fits) ?? (this.able ? null : here[0]) ?? null;
  }

  /** What to draw while the model computes: the step's head before. */
  get backdrop() {
    const { trace, state } = this.#app;
    const { trace: before, head } = this.#last ?? { trace: null, head: null };
    return before === trace && head?.step === state.step ? head : null;
  }

  /** The heads of the step on view that are at hand. */
  get carried() {
    const { trace, state } = this.#app;
    return trace.attention.filter((head) => head.step === state.step);
  }

  /** @returns {[layers: number[], heads: number[]]} to choose from; the heads are of the layer on view */
  get choices() {
    const { trace, state } = this.#app;
    const here = this.carried;
    const layer = this.shown?.layer ?? state.layer;
    if (this.able) {
      const known = trace.attention[0];
      return known ? [range(known.layers), range(known.heads)] : [[], []];
    }
    const layers = [...new Set(here.map((head) => head.layer))].sort((a, b) => a - b);
    return [
      layers,
      here
        .filter((head) => head.layer === layer)
        .map((head) => head.head)
        .sort((a, b) => a - b),
    ];
  }

  /** @param {number} layer */
  chooseLayer(layer) {
    const { shown } = this;
    const head = this.able ? (this.#app.state.head ?? shown?.head ?? null) : null;
    this.#app.store.set({ layer, head });
  }

  /** @param {number} head */
  chooseHead(head) {
    this.#app.store.set({ layer: this.shown?.layer ?? this.#app.state.layer, head });
  }

  /** Ask again for what is on view. */
  again() {
    this.#consider();
    this.#app.store.touch("attention");
  }

  #consider() {
    const { state, view, trace } = this.#app;
    clearTimeout(this.#timer);
    this.#say(null);
    if (state.form !== "weights" || !view) return;
    const { shown } = this;
    if (shown) this.#last = { trace, head: shown };
    else if (view.step.base_top.length === 0)
      this.#say("This step needed no pass, so there was no attention.");
    else if (!this.able)
      this.#say(
        "This step carries no attention weights: computing them takes the model that made the run.",
      );
    else if (state.playing || (state.live && state.follow))
      this.#say("Attention weights are computed for a step that you stay at.");
    else this.#wait();
  }

  #wait() {
    const { layer, head } = this.#app.state;
    this.#say(
      layer === null
        ? "Computing attention weights …"
        : `Computing layer ${layer + 1}, head ${(head ?? 0) + 1} …`,
    );
    this.#timer = setTimeout(() => this.#put(), REST);
  }

  /** One question at a time; when it is answered, the step on view is considered again. */
  async #put() {
    const { trace, view, state } = this.#app;
    if (this.#asking || !this.#ask || !view) return;
    const question = questionOf(view, state);
    if (question === null) {
      this.#fail(
        "This trace does not hold all tokens before the step, so its weights cannot be computed.",
      );
      return;
    }
    this.#asking = true;
    const answer = await this.#ask(question).catch(() => ({
      problem: "The server could not be reached: try again.",
    }));
    this.#asking = false;
    this.#take(trace, question, answer);
  }

  /**
   * @param {Trace} trace
   * @param {AttentionQuestion} question
   * @param {AttentionAnswer} answer
   */
  #take(trace, question, answer) {
    (answer.heads ?? []).forEach((head) => trace.addAttention(head));
    if (answer.able === false) this.#unable.add(trace);
    const { state } = this.#app;
    const current =
      trace === this.#app.trace &&
      question.step === state.step &&
      question.layer === state.layer &&
      question.head === state.head;
    if (current && answer.problem) {
      this.#fail(answer.problem, answer.able !== false);
      return;
    }
    const [first] = answer.heads ?? [];
    if (current && state.layer === null && first)
      this.#app.store.set({ layer: first.layer, head: first.head });
    this.#consider();
    this.#app.store.touch("attention");
  }

  /**
   * @param {string} problem
   * @param {boolean} retry
   */
  #fail(problem, retry = false) {
    this.#say(problem, retry);
    this.#app.store.touch("attention");
  }

  /**
   * @param {string | null} reason
   * @param {boolean} retry
   */
  #say(reason, retry = false) {
    [this.reason, this.retry] = [reason, retry];
  }
}

/**
 * All that the model needs; null where the trace lacks tokens.
 * @param {View} view
 * @param {Explorer["state"]} state
 * @returns {AttentionQuestion | null}
 */
function questionOf(view, { layer, head }) {
  const { trace, step, index, shape } = view;
  const prefix = trace.prefixIds(step);
  if (prefix.length !== step.context_length) return null;
  const { model, backend } = trace.header ?? { model: "", backend: "" };
  return {
    model,
    backend,
    step: index,
    prefix,
    token_ids: step.token_ids,
    parents: shape.parents,
    layer,
    head,
  };
}

/** @param {number} length */
const range = (length) => Array.from({ length }, (_, i) => i);
