// What the browser knows of a comparison: the server's messages, put together.

export class Comparison {
  run = null;
  phase = "empty"; // empty, waiting, running, done, stopped, failed
  text = "";
  share = 0;
  left = null; // seconds, as the server estimates them
  prompts = [];
  report = null; // explorer.measuring.bench_report.BenchReport without its races
  batches = { phase: "empty", text: "", share: 0, left: null, report: null }; // explorer.measuring.batch
  engine = { phase: "loading", text: "Starting", fraction: null };
  #races = new Map();
  #next = 0;
  #queue = Promise.resolve();

  /** `missed(run, first)` asks for a message again; `changed(what)` is told "events" or "status". */
  constructor(missed, changed) {
    this.missed = missed;
    this.changed = changed;
  }

  get live() {
    return going(this) || going(this.batches);
  }

  /** Races of all methods, prompt by prompt. */
  get races() {
    return [...this.#races.values()].sort((a, b) => a.number - b.number);
  }

  /** Take in a message; messages are taken in order. */
  receive(text) {
    const taken = this.#queue.then(() => this.#receive(JSON.parse(text)));
    this.#queue = taken.catch(() => {}); // what went wrong with one must not stop the next
    return taken;
  }

  async #receive(message) {
    if (message.engine) {
      this.engine = message.engine;
      return this.changed("status");
    }
    if (message.batches) return this.#measured(message);
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

  #measured({ phase, text, share, left, events }) {
    const report = events.at(-1)?.[1] ?? this.batches.report;
    this.batches = { phase, text, share, left, report };
    this.changed(events.length || !going(this.batches) ? "events" : "status");
  }

  #begin(run) {
    Object.assign(this, { run, phase: "waiting", text: "", prompts: [], report: null });
    this.#next = 0;
    this.#races.clear();
    this.changed("begun");
  }

  #take([kind, told]) {
    if (kind === "prompts") this.prompts = told;
    else if (kind === "report") this.report = told ?? this.report;
    else told.forEach((race) => this.#races.set(`${race.number} ${race.method}`, race));
  }
}

/** A run that waits, or was refused, has told nothing yet. */
const isUnbegun = ({ first, events }) => first === 0 && events.length === 0;

export const going = ({ phase }) => phase === "waiting" || phase === "running";
