// Real attention weights: what a trace carries of them, and what a loaded model computes on request.
// The counterpart of explorer/records/attention.py.

const ONE = 65_535; // the 16-bit number that stands for a weight of 1
const REST = 250; // milliseconds on one step before the model is asked
const decoded = new WeakMap();

/** Per row of the step its weights: the prefix's untold rest, the told slots, the row's own line. */
export function weightsOf(head, depths) {
  if (!decoded.has(head)) decoded.set(head, decode(head, depths));
  return decoded.get(head);
}

function decode({ weights, slots }, depths) {
  const bytes = Uint8Array.from(atob(weights), (letter) => letter.charCodeAt(0));
  const numbers = new DataView(bytes.buffer);
  let at = 0;
  const next = () => numbers.getUint16(2 * at++, true) / ONE;
  return depths.map((depth) => Float64Array.from({ length: 2 + slots.length + depth }, next));
}

/** Which head is on view, and what to say where none is. `ask(question)` asks the server: a promise
 *  of { heads } or { problem, able }; null where there is none. */
export class Attention {
  told = null; // why no weights are on view, in a sentence
  retry = false; // whether asking again may help
  #app;
  #ask;
  #unable = new WeakSet(); // traces that the model at hand did not make
  #timer = null;
  #asking = false;
  #last = null;

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
    const fits = (one) =>
      (layer === null || one.layer === layer) && (head === null || one.head === head);
    return here.find(fits) ?? (this.able ? null : here[0]) ?? null;
  }

  /** What to draw while the model computes: the step's head before. */
  get backdrop() {
    const { trace, state } = this.#app;
    return this.#last?.trace === trace && this.#last.head.step === state.step
      ? this.#last.head
      : null;
  }

  /** The heads of the step on view that are at hand. */
  get carried() {
    const { trace, state } = this.#app;
    return trace.attention.filter((head) => head.step === state.step);
  }

  /** The layers and heads to choose from: [[layers], [heads of the layer on view]]. */
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

  chooseLayer(layer) {
    const { shown } = this;
    const head = this.able ? (this.#app.state.head ?? shown?.head ?? null) : null;
    this.#app.store.set({ layer, head });
  }

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
        : `Computing layer ${layer + 1}, head ${head + 1} …`,
    );
    this.#timer = setTimeout(() => this.#put(), REST);
  }

  /** One question at a time; when it is answered, the step on view is considered again. */
  async #put() {
    if (this.#asking) return;
    const { trace, view, state } = this.#app;
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

  #fail(problem, retry = false) {
    this.#say(problem, retry);
    this.#app.store.touch("attention");
  }

  #say(told, retry = false) {
    [this.told, this.retry] = [told, retry];
  }
}

/** All that the model needs; null where the trace lacks tokens. */
function questionOf(view, { layer, head }) {
  const { trace, step, index, shape } = view;
  const prefix = trace.prefixIds(step);
  if (prefix.length !== step.context_length) return null;
  const { model, backend } = trace.header;
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

const range = (length) => Array.from({ length }, (_, i) => i);
