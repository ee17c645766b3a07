// A run as the server sends it: its messages in order, and what got lost on the way asked for.

import { describe } from "./source.js";
import { Trace } from "./trace.js";
import { take } from "./wire.js";

/**
 * @import { Explorer } from "./main.js"
 * @import { Message, WireEvent } from "../../types/page.js"
 */

/** @typedef {(run: string, first: number) => Promise<WireEvent[]>} Missed */

export class Live {
  /** @type {Explorer} */
  #app;
  /** @type {Missed | null} */
  #missed;
  /** @type {{ id: string | null, next: number }} */
  #run = { id: null, next: 0 };
  /** @type {number | null} */
  #wantedStep = null;
  #queue = Promise.resolve();

  /**
   * @param {Explorer} app
   * @param {Missed | null} missed
   */
  constructor(app, missed) {
    [this.#app, this.#missed] = [app, missed];
  }

  /**
   * A step to rest at once a run has come so far.
   * @param {number | null} step
   */
  want(step) {
    this.#wantedStep = step;
  }

  /** Another run is on view: the next message begins one. */
  forget() {
    this.#run = { id: null, next: 0 };
  }

  /**
   * Take in a message of the server; messages are taken in order.
   * @param {Message | string} message
   */
  receive(message) {
    this.#queue = this.#queue.then(() => this.#app.attempt(this.#receive(message)));
    return this.#queue;
  }

  /** @param {Message | string} message */
  async #receive(message) {
    /** @type {Message} */
    const parsed = typeof message === "string" ? JSON.parse(message) : message;
    const { run, first, events, live, figures } = parsed;
    if (run !== this.#run.id) this.#begin(run);
    if (first > this.#run.next && this.#missed) {
      const between = await this.#missed(run, this.#run.next);
      this.#take(between, this.#run.next);
    }
    this.#take(events, first);
    this.#app.trace.figures = figures ?? this.#app.trace.figures;
    this.#grown(live);
  }

  /** @param {string} run */
  #begin(run) {
    if (this.#app.state.playing) this.#app.playback.stop();
    this.#app.trace = new Trace();
    this.#run = { id: run, next: 0 };
    this.#app.recorded = null;
    this.#app.own = "whole";
    this.#app.notice = "";
    this.#app.store.set({
      step: null,
      resting: false,
      row: null,
      hover: null,
      live: true,
      follow: true,
      problem: null,
      source: "This run",
    });
    this.#app.store.touch("trace");
  }

  /**
   * @param {WireEvent[]} events
   * @param {number} first
   */
  #take(events, first) {
    events
      .slice(Math.max(0, this.#run.next - first))
      .forEach((event) => take(this.#app.trace, event));
    this.#run.next = Math.max(this.#run.next, first + events.length);
  }

  /** @param {boolean} live */
  #grown(live) {
    const { newest } = this.#app.trace;
    if (this.#app.trace.header)
      this.#app.store.set({ source: `This run · ${describe(this.#app.trace)}` });
    if (newest !== null && this.#app.state.follow && newest !== this.#app.state.step)
      this.#app.store.set({ step: newest, row: null, hover: null });
    if (this.#wantedStep !== null && newest !== null && newest >= this.#wantedStep) {
      this.#app.show(this.#wantedStep);
      this.#wantedStep = null;
    }
    const ended = this.#app.state.live && !live;
    if (ended && this.#app.state.follow)
      this.#app.store.set({ step: this.#app.trace.tellingStep, row: null, resting: true });
    if (ended) this.#app.playback.settle();
    this.#app.store.set({ live, ...(live ? {} : { follow: false }) });
    this.#app.store.touch("grown");
  }
}
