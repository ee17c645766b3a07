// The step explorer: holds one run in the browser and everything that looks at it.

import { Attention } from "./attention.js";
import { barView, controls } from "./bar.js";
import { cacheView } from "./cache.js";
import { followColours } from "./colours.js";
import { costView } from "./cost.js";
import { h } from "./dom.js";
import { examplesView, promptView } from "./examples.js";
import { foresightView } from "./foresight_map.js";
import { keep, recalled } from "./keep.js";
import { listenToKeys } from "./keys.js";
import { lanesView } from "./lanes.js";
import { maskView } from "./mask.js";
import { plural } from "./numbers.js";
import { OpenError, openTrace, traceOf } from "./open.js";
import { hashOf, wantedFrom } from "./permalink.js";
import { Playback } from "./playback.js";
import { presenterView } from "./presenter.js";
import { raceView } from "./race.js";
import { LAST_STAGE, Store } from "./store.js";
import { storyView } from "./story.js";
import { loadStyles } from "./styles.js";
import { summaryView } from "./summary.js";
import { timelineView } from "./timeline.js";
import { Trace } from "./trace.js";
import { treeView } from "./tree.js";
import { verdictView } from "./verdict.js";
import { View } from "./verdicts.js";
import { take } from "./wire.js";

/**
 * @import { AttentionQuestion } from "../../types/records.js"
 * @import { Upgrade } from "./open.js"
 * @import { AttentionAnswer, Example, Message, RecordedExample, WireEvent } from "../../types/page.js"
 */

const PRESENTED = 0.026 / 13; // of the window's height: presenter.css has the same for type
const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

/**
 * @typedef {object} Options
 * @property {(run: string, first: number) => Promise<WireEvent[]>} [missed] a run's events from
 *   number `first` on, where some got lost on the way
 * @property {(question: AttentionQuestion) => Promise<AttentionAnswer>} [attention] weights that
 *   the trace does not carry
 * @property {Upgrade} [upgrade] a file (base64) of an earlier format as a record of this one
 * @property {(example: Example) => unknown} [fill] put an example's prompt and settings in the page
 * @property {(prompt: string, settings: object) => unknown} [run] run a prompt, some settings changed
 */

export class Explorer {
  store = new Store();
  trace = new Trace();
  /** @type {Example[]} */
  examples = []; // prompts that the page offers
  /** @type {RecordedExample[]} */
  gallery = []; // those that were recorded
  /** @type {View | null} */
  #view = null;
  /** @type {string | null} */
  #recorded = null; // the name of the recorded run on view
  /** @type {{ id: string | null, next: number }} */
  #run = { id: null, next: 0 };
  /** @type {number | null} */
  #wantedStep = null;
  #queue = Promise.resolve();

  /**
   * @param {Element} element
   * @param {Options} options
   */
  constructor(element, options = {}) {
    this.missed = options.missed ?? null;
    this.upgrade = options.upgrade ?? null;
    this.options = options;
    this.playback = new Playback(this);
    this.attention = new Attention(this, options.attention ?? null);
    this.element = h("div", { class: "sx" });
    this.element.append(...layout(this));
    element.append(this.element);
    listenToKeys(this);
    this.#acceptDrops();
    this.store.touch("trace");
    addEventListener("pagehide", () => this.#recorded === null && keep(this.trace));
  }

  get state() {
    return this.store.state;
  }

  /** The name of the recorded run on view; null: it is another run. */
  get recorded() {
    return this.#recorded;
  }

  /** Runs the prompt on view again with some settings changed; null where nothing can run. */
  get rerun() {
    const { run } = this.options;
    const prompt = this.trace.header?.prompt;
    if (!run || prompt === undefined) return null;
    return (/** @type {object} */ settings) => run(prompt, settings);
  }

  /** The step on view; null before there is one. */
  get view() {
    const { step } = this.state;
    if (step === null) return null;
    if (this.#view?.trace !== this.trace || this.#view.index !== step)
      this.#view = new View(this.trace, step);
    return this.#view;
  }

  /** The selected row; while none is selected, the one that says most. */
  get row() {
    const { view } = this;
    if (!view) return 0;
    const { row, stage } = this.state;
    if (row !== null && row < view.rows) return row;
    return stage > 3 ? view.tellingRow : 0;
  }

  /** The row under the pointer, else the selected one; and its line from the root. */
  get focusRow() {
    const { hover } = this.state;
    return hover !== null && this.view && hover < this.view.rows ? hover : this.row;
  }

  get focusLine() {
    return this.view ? this.view.line(this.focusRow) : [];
  }

  /** Scale of type and shapes in pictures. */
  get unit() {
    return this.state.presenter ? Math.max(1, PRESENTED * innerHeight) : 1;
  }

  /** The moment on the lanes' clock that is on view, in seconds; null: all there is. */
  get moment() {
    const { state, trace } = this;
    if (state.playing) return state.clock;
    if (state.step === null || state.step === trace.newest || state.resting) return null;
    return trace.clock[state.step];
  }

  /**
   * Look at a step; the view then stays there.
   * @param {number} step
   */
  show(step) {
    const { newest } = this.trace;
    if (newest === null) return;
    if (this.state.playing) this.playback.stop();
    const clamped = Math.max(0, Math.min(step, newest));
    const changed = clamped !== this.state.step;
    this.store.set({
      step: clamped,
      follow: false,
      resting: false,
      ...(changed ? { row: null, hover: null } : {}),
    });
  }

  /**
   * One step on or back; in presenter mode, one stage.
   * @param {number} by
   */
  move(by) {
    const { presenter, stage } = this.state;
    const step = this.state.step ?? 0;
    if (!presenter) return this.show(step + by);
    const next = stage + by;
    if (next >= 0 && next <= LAST_STAGE) return this.store.set({ stage: next });
    if (step + by < 0 || step + by >= this.trace.steps.length) return undefined;
    this.show(step + by);
    return this.store.set({ stage: by > 0 ? 0 : LAST_STAGE });
  }

  /** @param {number} row */
  select(row) {
    this.store.set({ row, follow: false });
  }

  /** @param {number} by */
  selectBeside(by) {
    if (this.view) this.select(Math.max(0, Math.min(this.view.rows - 1, this.row + by)));
  }

  followLive() {
    if (!this.state.live) return;
    if (this.state.follow) return this.store.set({ follow: false });
    if (this.state.playing) this.playback.stop();
    return this.store.set({ follow: true, step: this.trace.newest, row: null });
  }

  /** @param {boolean} on */
  present(on) {
    if (!this.view) return;
    this.element.classList.toggle("is-presenter", on);
    document.body.classList.toggle("sx-presenting", on);
    const begins = { stage: 0, follow: false, resting: false };
    this.store.set({ presenter: on, ...(on ? begins : { stage: LAST_STAGE }) });
    if (on && this.state.playing) this.playback.stop();
  }

  /**
   * Look at a whole run. `play`: begin to play it, where motion is welcome.
   * @param {Trace} trace
   * @param {string} source
   * @param {{ step?: number | null, recorded?: string | null, play?: boolean }} [more]
   */
  open(trace, source, { step = null, recorded = null, play = false } = {}) {
    if (this.state.playing) this.playback.stop();
    this.trace = trace;
    this.#recorded = recorded;
    this.#run = { id: null, next: 0 };
    const first =
      trace.newest === null
        ? null
        : Math.min(step ?? trace.figures?.telling_step ?? 0, trace.newest);
    this.store.set({
      step: first,
      resting: step === null,
      row: null,
      hover: null,
      live: false,
      follow: false,
      problem: null,
      source: `${source} · ${describe(trace)}`,
    });
    this.store.touch("trace");
    if (play && !calm()) this.playback.start(0);
  }

  /**
   * Open a file that the reader chose.
   * @param {File} file
   */
  async openFile(file) {
    const opened = openTrace(file, file.name, this.upgrade);
    await this.attempt(opened.then((trace) => this.open(trace, file.name)));
  }

  /**
   * @param {string} name
   * @param {{ step?: number | null, play?: boolean }} [more]
   */
  async openRecorded(name, more = {}) {
    const entry = this.gallery.find((one) => one.name === name);
    if (!entry)
      return this.store.set({
        problem: `There is no recorded run called ${name}: choose one from the list.`,
      });
    const label = `Recorded run ‘${entry.name}’`;
    return this.attempt(
      fetch(new URL(entry.file, entry.base)).then(async (answer) => {
        if (!answer.ok) throw new OpenError(`${label} could not be fetched: try again.`);
        const trace = await openTrace(await answer.blob(), entry.file);
        if (this.state.live) return; // a run has begun meanwhile
        this.open(trace, label, { recorded: entry.name, ...more });
      }),
    );
  }

  /**
   * Open an example's recorded run, and put its prompt where it can be run.
   * @param {string} name
   */
  async choose(name) {
    const example = this.gallery.find((one) => one.name === name);
    if (example) this.options.fill?.(example);
    await this.openRecorded(name, { play: true });
  }

  /**
   * Read the list of recorded runs, and show what the address asks for, or the first one.
   * @param {URL} url
   */
  async useGallery(url) {
    const answer = await fetch(new URL("index.json", url));
    this.examples = await answer.json();
    this.gallery = this.examples.flatMap((one) =>
      one.file ? [{ ...one, file: one.file, base: url }] : [],
    );
    this.store.touch("gallery");
    const wanted = wantedFrom(location.hash);
    this.#wantedStep = wanted.trace ? null : wanted.step;
    if (this.trace.header) return;
    const name = wanted.trace ?? wanted.example;
    const known = this.gallery.find((entry) => entry.name === name);
    if (known) return this.openRecorded(known.name, { step: wanted.step, play: !wanted.trace });
    const kept = recalled();
    if (kept && !wanted.trace && !wanted.prompt)
      return this.open(kept, "Your last run", { step: wanted.step });
    if (this.gallery.length) await this.openRecorded(this.gallery[0].name, { play: !wanted.trace });
    if (wanted.trace)
      this.store.set({
        problem: `There is no recorded run called ${wanted.trace}, so this is another one: choose an example.`,
      });
    else if (wanted.prompt)
      this.store.set({
        problem: this.options.run
          ? `This link names a run that was not recorded: press Run to repeat it. It then opens at step ${(wanted.step ?? 0) + 1}.`
          : "This link names a run that was not recorded, and nothing can be run here: this is a recorded one.",
      });
  }

  /**
   * Take in a message of the server; messages are taken in order.
   * @param {Message | string} message
   */
  receive(message) {
    this.#queue = this.#queue.then(() => this.attempt(this.#receive(message)));
    return this.#queue;
  }

  /** @param {Message | string} message */
  async #receive(message) {
    /** @type {Message} */
    const parsed = typeof message === "string" ? JSON.parse(message) : message;
    const { run, first, events, live, figures } = parsed;
    if (run !== this.#run.id) this.#begin(run);
    if (first > this.#run.next && this.missed) {
      const between = await this.missed(run, this.#run.next);
      this.#take(between, this.#run.next);
    }
    this.#take(events, first);
    this.trace.figures = figures ?? this.trace.figures;
    this.#grown(live);
  }

  copyLink() {
    const hash = hashOf(this.trace, this.state.step, this.#recorded, this.examples);
    history.replaceState(null, "", hash);
    const address = location.href;
    navigator.clipboard?.writeText(address).catch(() => {});
    this.store.set({
      problem: null,
      source: `The address now leads to this step: ${address.slice(0, 200)}`,
    });
  }

  /**
   * Wait for something that may fail; a failure is one sentence in the bar.
   * @param {Promise<unknown>} promise
   */
  async attempt(promise) {
    try {
      await promise;
    } catch (error) {
      const told =
        error instanceof OpenError
          ? error.message
          : `That did not work (${error instanceof Error ? error.message : error}): try again.`;
      this.store.set({ problem: told });
    }
  }

  /** @param {string} run */
  #begin(run) {
    if (this.state.playing) this.playback.stop();
    this.trace = new Trace();
    this.#run = { id: run, next: 0 };
    this.#recorded = null;
    this.store.set({
      step: null,
      resting: false,
      row: null,
      hover: null,
      live: true,
      follow: true,
      problem: null,
      source: "This run",
    });
    this.store.touch("trace");
  }

  /**
   * @param {WireEvent[]} events
   * @param {number} first
   */
  #take(events, first) {
    events.slice(Math.max(0, this.#run.next - first)).forEach((event) => take(this.trace, event));
    this.#run.next = Math.max(this.#run.next, first + events.length);
  }

  /** @param {boolean} live */
  #grown(live) {
    const { newest } = this.trace;
    if (this.trace.header) this.store.set({ source: `This run · ${describe(this.trace)}` });
    if (newest !== null && this.state.follow && newest !== this.state.step)
      this.store.set({ step: newest, row: null, hover: null });
    if (this.#wantedStep !== null && newest !== null && newest >= this.#wantedStep) {
      this.show(this.#wantedStep);
      this.#wantedStep = null;
    }
    const ended = this.state.live && !live;
    if (ended && this.state.follow)
      this.store.set({ step: this.trace.tellingStep, row: null, resting: true });
    this.store.set({ live, ...(live ? {} : { follow: false }) });
    this.store.touch("grown");
  }

  #acceptDrops() {
    this.element.addEventListener("dragover", (event) => event.preventDefault());
    this.element.addEventListener("drop", (event) => {
      event.preventDefault();
      const [file] = event.dataTransfer?.files ?? [];
      if (file) this.openFile(file);
    });
  }
}

/** @param {Trace} trace */
function describe({ header }) {
  if (!header) return "";
  const { model, backend, device, settings } = header;
  const earlier = header.continued_tokens
    ? [`continues ${plural(header.continued_tokens, "token")}`]
    : [];
  return [
    model,
    backend,
    device,
    ...(["medusa", "hydra"].includes(settings.method) ? [`tree ${settings.tree}`] : []),
    settings.acceptance,
    ...earlier,
    header.created.slice(0, 10),
  ].join(" · ");
}

/** @param {Explorer} app */
function layout(app) {
  return [
    barView(app, examplesView(app)),
    promptView(app),
    presenterView(app),
    storyView(app),
    h("div", { class: "sx-row sx-row-race" }, lanesView(app), raceView(app)),
    timelineView(app, controls(app)),
    h("div", { class: "sx-row sx-row-step" }, treeView(app), verdictView(app), maskView(app)),
    h("div", { class: "sx-row sx-row-deep" }, cacheView(app), costView(app)),
    foresightView(app),
    summaryView(app),
  ];
}

/**
 * Load the style sheets, then build the explorer inside an element.
 * @param {Element} element
 * @param {Options} options
 */
export async function mount(element, options = {}) {
  await loadStyles();
  return new Explorer(element, options);
}

/**
 * A page of its own, with one trace: what an exported HTML file does.
 * @param {Element} element
 * @param {string} json
 */
export function standalone(element, json) {
  followColours();
  const explorer = new Explorer(element);
  explorer.open(traceOf(JSON.parse(json), "This file"), "Saved run", {
    step: wantedFrom(location.hash).step,
  });
  return explorer;
}
