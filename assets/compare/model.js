// What the browser knows of a comparison: the server's messages, put together.

/**
 * @import { BatchReport, PromptFigures, WhoKnew } from "../../types/records.js"
 * @import { CompareEvent, CompareMessage, CompareServer, Engine, Phase, PromptRecord, Report, SavedComparison } from "../../types/page.js"
 */

/**
 * @template Found
 * @typedef {object} Aside how something that is asked for besides a comparison stands
 * @property {Phase} phase
 * @property {string} text
 * @property {number} share
 * @property {number | null} left
 * @property {Found | null} report
 */

export class Comparison {
  /** @type {string | null} */
  run = null;
  /** @type {Phase} */
  phase = "empty";
  text = "";
  share = 0;
  /** @type {number | null} */
  left = null; // seconds, as the server estimates them
  /** @type {PromptRecord[]} */
  prompts = [];
  /** @type {Report | null} */
  report = null;
  /** @type {Aside<BatchReport>} */
  batches = { phase: "empty", text: "", share: 0, left: null, report: null };
  /** @type {Aside<WhoKnew>} */
  overlap = { phase: "empty", text: "", share: 0, left: null, report: null };
  /** @type {Engine} */
  engine = { phase: "loading", text: "Starting", fraction: null };
  recorded = false; // whether it was measured at another time
  /** @type {Map<string, PromptFigures>} */
  #races = new Map();
  #next = 0;
  #queue = Promise.resolve();

  /**
   * @param {CompareServer["missed"]} missed asks for a message again
   * @param {(what: "begun" | "events" | "status") => void} changed
   */
  constructor(missed, changed) {
    this.missed = missed;
    this.changed = changed;
  }

  get live() {
    return going(this) || going(this.batches) || going(this.overlap);
  }

  /**
   * What is running now: an aside, or the comparison.
   * @returns {Pick<Aside<unknown>, "phase" | "text" | "share" | "left">}
   */
  get doing() {
    return [this.batches, this.overlap].find(going) ?? this;
  }

  /** Races of all methods, prompt by prompt. */
  get races() {
    return [...this.#races.values()].sort((a, b) => a.number - b.number);
  }

  /**
   * Take in a message; messages are taken in order.
   * @param {string} text
   * @returns {Promise<void>}
   */
  receive(text) {
    const taken = this.#queue.then(() => this.#receive(JSON.parse(text)));
    this.#queue = taken.catch(() => {}); // what went wrong with one must not stop the next
    return taken;
  }

  /**
   * Show a comparison that was saved.
   * @param {SavedComparison} saved
   */
  open({ races, asked_prompts: prompts, ...report }) {
    this.#begin("recorded");
    Object.assign(this, { phase: "done", prompts, report, recorded: true });
    this.#take(["races", races]);
    this.changed("events");
  }

  /** @param {CompareMessage} message */
  async #receive(message) {
    if (message.engine) {
      this.engine = message.engine;
      return this.changed("status");
    }
    if (message.aside) return this.#takeAside(message, message.aside);
    const { phase, share, left, text } = message;
    const status = { phase, share, left, text };
    if (message.run !== this.run) {
      if (isUnbegun(message)) {
        Object.assign(this, status);
        return this.changed("status"); // what was measured before stays on view
      }
      this.#begin(message.run);
    }
    const lacks = message.first > this.#next;
    const { first, events } = lacks ? await this.missed(message.run, this.#next) : message;
    const fresh = events.slice(Math.max(0, this.#next - first));
    fresh.forEach((event) => this.#take(event));
    this.#next = Math.max(this.#next, first + events.length);
    Object.assign(this, status);
    this.changed(fresh.length ? "events" : "status");
  }

  /**
   * @param {CompareMessage} message
   * @param {"batches" | "overlap"} what
   */
  #takeAside({ phase, text, share, left, events }, what) {
    Object.assign(this[what], { phase, text, share, left });
    const last = events.at(-1);
    if (last?.[0] === "batches") this.batches.report = last[1];
    if (last?.[0] === "overlap") this.overlap.report = last[1];
    this.changed(events.length || !going(this[what]) ? "events" : "status");
  }

  /** @param {string} run */
  #begin(run) {
    Object.assign(this, {
      run,
      phase: "waiting",
      text: "",
      prompts: [],
      report: null,
      recorded: false,
    });
    this.#next = 0;
    this.#races.clear();
    this.changed("begun");
  }

  /** @param {CompareEvent} event */
  #take([kind, value]) {
    if (kind === "prompts") this.prompts = value;
    else if (kind === "report") this.report = value ?? this.report;
    else if (kind === "races") {
      for (const race of value) this.#races.set(`${race.number} ${race.method}`, race);
    }
  }
}

/**
 * A run that waits, or was refused, has sent nothing yet.
 * @param {CompareMessage} message
 */
const isUnbegun = ({ first, events }) => first === 0 && events.length === 0;

/** @param {{ phase: Phase }} status */
export const going = ({ phase }) => phase === "waiting" || phase === "running";
