// The step explorer: holds one run in the browser and everything that looks at it.

import { Attention } from "./attention.js";
import { h } from "./dom.js";
import { choose, readGallery } from "./gallery.js";
import { keep, keepExample } from "./keep.js";
import { listenToKeys } from "./keys.js";
import { Live } from "./live.js";
import { Looking } from "./looking.js";
import { OpenError, openTrace } from "./open.js";
import { hashOf } from "./permalink.js";
import { Playback } from "./playback.js";
import { describe } from "./source.js";
import { LAST_STAGE } from "./store.js";
import { placeOf, stages } from "./verdicts.js";

/** @import { Trace } from "./trace.js" */

/**
 * @import { AttentionQuestion } from "../../types/records.js"
 * @import { Missed } from "./live.js"
 * @import { Upgrade } from "./open.js"
 * @import { AttentionAnswer, Example, Message, RecordedExample } from "../../types/page.js"
 */

const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

/**
 * @typedef {object} Options
 * @property {Missed} [missed] a run's events from a number on, where some got lost on the way
 * @property {(question: AttentionQuestion) => Promise<AttentionAnswer>} [attention] weights that
 *   the trace does not carry
 * @property {Upgrade} [upgrade] a file (base64) of an earlier format as a record of this one
 * @property {() => unknown} [leave] the page no longer describes the run that was on view before
 * @property {(example: Example) => unknown} [fill] put an example's prompt and settings in the page
 * @property {(prompt: string, settings: object) => unknown} [run] run a prompt, some settings changed
 */

export class Explorer extends Looking {
  /** @type {Example[]} */
  examples = []; // prompts that the page offers
  /** @type {RecordedExample[]} */
  gallery = []; // those that were recorded
  /** @type {string | null} */
  recorded = null; // the name of the recorded run on view; null: it is another run
  notice = ""; // said of the run on view, beside its prompt
  /** @type {"whole" | "cut" | null} */
  own = null; // the run on view is the visitor's, left before its end or not; null: it is not his

  /**
   * @param {Element} element
   * @param {Options} options
   * @param {(app: Explorer) => Node[]} layout the views
   */
  constructor(element, options = {}, layout = () => []) {
    super();
    this.live = new Live(this, options.missed ?? null);
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
    addEventListener("pagehide", () => {
      this.#keep();
      if (this.recorded !== null) keepExample(this.recorded);
    });
  }

  /** Runs the prompt on view again with some settings changed; null where nothing can run. */
  get rerun() {
    const { run } = this.options;
    const prompt = this.trace.header?.prompt;
    if (!run || prompt === undefined) return null;
    return (/** @type {object} */ settings) => run(prompt, settings);
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
    const next = this.view && stages(this.view)[placeOf(this.view, stage) + by]?.[0];
    if (typeof next === "number") return this.store.set({ stage: next });
    if (step + by < 0 || step + by >= this.trace.steps.length) return undefined;
    this.show(step + by);
    return this.store.set({ stage: by > 0 ? 0 : LAST_STAGE });
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
   * @param {{ step?: number | null, recorded?: string | null, own?: Explorer["own"], play?: boolean }} [more]
   */
  open(trace, source, { step = null, recorded = null, own = null, play = false } = {}) {
    if (this.state.playing) this.playback.stop();
    this.#keep();
    this.trace = trace;
    this.recorded = recorded;
    this.own = own;
    this.notice = "";
    this.live.forget();
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
    this.playback.settle();
    if (play && !calm()) this.playback.start(0);
  }

  /**
   * Open a file that the reader chose.
   * @param {File} file
   */
  async openFile(file) {
    const opened = openTrace(file, file.name, this.upgrade);
    const shown = opened.then((trace) => {
      this.open(trace, file.name);
      this.options.leave?.();
    });
    await this.attempt(shown);
  }

  /**
   * Open an example's recorded run, and put its prompt where it can be run.
   * @param {string} name
   */
  choose(name) {
    return choose(this, name);
  }

  /**
   * Read the list of recorded runs, and show what the address asks for, or the first one.
   * @param {URL} url
   */
  useGallery(url) {
    return readGallery(this, url);
  }

  /**
   * Take in a message of the server; messages are taken in order.
   * @param {Message | string} message
   */
  receive(message) {
    return this.live.receive(message);
  }

  copyLink() {
    const hash = hashOf(this.trace, this.state.step, this.recorded, this.examples);
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
      const problem =
        error instanceof OpenError
          ? error.message
          : `That did not work (${error instanceof Error ? error.message : error}): try again.`;
      this.store.set({ problem });
    }
  }

  /** The visitor's own run is kept before another one is looked at. */
  #keep() {
    if (this.own) keep(this.trace, this.state.live || this.own === "cut");
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
