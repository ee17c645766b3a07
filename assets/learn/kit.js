// What widgets share: controls, charts, how numbers are written, the last run, the running app.

import { h, s } from "../step_explorer/dom.js";
import { recalled } from "../step_explorer/keep.js";
import { openTrace } from "../step_explorer/open.js";
import { explained } from "../step_explorer/term.js";
import { Chart } from "./chart.js";
import { choice, figures, question, slider, toggle } from "./controls.js";
import * as numbers from "./numbers.js";

/**
 * @typedef {object} Machine what the running app says of itself
 * @property {string} model with backend and device
 * @property {number | null} bandwidth GB/s that this machine reads, measured
 *
 * @typedef {object} App
 * @property {string | null} model null: none is loaded, or not yet
 * @property {boolean} own whether it runs for its own user, whose runs may be looked at
 * @property {boolean} runs whether it runs prompts for that user
 */

/** Given to each widget as `tools`. */
export class Tools {
  /**
   * @param {string} live where a running app answers; empty: there is none
   * @param {(step: number) => void} seen called with the step, from 0, that shows in the visitor's last
   *   run what the chapter is about
   */
  constructor(live, seen = () => {}) {
    this.live = live;
    this.seen = seen;
    /** @type {Promise<unknown>[]} */
    this.runs = [];
  }

  /** When every run that a widget asked for has come, or failed to. */
  settled() {
    return Promise.allSettled(this.runs);
  }

  /** Where the running app answers. @param {string} path */
  address(path) {
    return new URL(`../${this.live}${path}`, import.meta.url);
  }

  h = h;
  s = s;
  explained = explained;
  slider = slider;
  choice = choice;
  toggle = toggle;
  figures = figures;
  question = question;
  numbers = numbers;

  /** @param {ConstructorParameters<typeof Chart>[0]} options */
  chart(options) {
    return new Chart(options);
  }

  /** The visitor's last run on Explore, if this tab still has one. */
  lastRun() {
    return recalled();
  }

  /**
   * A recorded run of assets/traces, by the name of its file without the ending.
   * @param {string} name
   */
  recordedRun(name) {
    const run = this.#fetched(name);
    this.runs.push(run);
    return run;
  }

  /** @param {string} name */
  async #fetched(name) {
    const file = `${name}.json.gz`;
    const answer = await fetch(new URL(`../traces/${file}`, import.meta.url));
    if (!answer.ok) throw new Error(`the recorded run ${name} could not be fetched`);
    return openTrace(await answer.blob(), file);
  }

  /**
   * What the running app can do; null: there is none.
   * @returns {Promise<(App & { bandwidth?: number | null }) | null>}
   */
  async app() {
    return this.asked("state");
  }

  /**
   * What the running app has loaded and measured; null: no app, or no model yet.
   * @returns {Promise<Machine | null>}
   */
  async machine() {
    const app = await this.app();
    return app?.model ? { model: app.model, bandwidth: app.bandwidth ?? null } : null;
  }

  /**
   * The running app's answer; null: there is no app, or it has none.
   * @param {string} path
   */
  async asked(path) {
    if (!this.live) return null;
    try {
      const answer = await fetch(this.address(path));
      return answer.ok ? await answer.json() : null;
    } catch {
      return null;
    }
  }

  /**
   * A link to Explore at a step (from 0) of a recorded run.
   * @param {string} trace
   * @param {number} step
   * @param {string} text
   */
  seeLink(trace, step, text = "See it in a recorded run") {
    const explore = document.querySelector(".mx-pages a")?.getAttribute("href") ?? "./";
    return h("a", { class: "lx-see", href: `${explore}#trace=${trace}&step=${step + 1}` }, text);
  }
}
