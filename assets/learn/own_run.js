// Which run a chapter looks at: the recorded one, the visitor's last one, or one of a prompt of his
// own that the loaded model runs as the chapter needs it. Recorded where there is no app.

import { keep, recalled } from "../step_explorer/keep.js";
import { traceOf } from "../step_explorer/open.js";

/**
 * @import { Tools } from "./kit.js"
 * @import { Trace } from "../step_explorer/trace.js"
 * @typedef {{ data: object, step: number, run: object | null }} Answer as explorer/ui/own_runs.py has it
 * @typedef {{ data: object, trace: Trace }} OwnRun
 */

/**
 * A widget that is drawn again for each run that is chosen.
 * @template {object} Data
 * @param {HTMLElement} place
 * @param {string} key of the chapter
 * @param {Data} data of the recorded run
 * @param {Tools} tools
 * @param {(data: Data, trace: Trace | null) => (Node | null)[]} draw `trace`: the visitor's own
 */
export function mountOwn(place, key, data, tools, draw) {
  const body = tools.h("div", { class: "lx-body" });
  const show = (/** @type {OwnRun | null} */ own) => {
    const drawn = draw({ ...data, ...own?.data }, own?.trace ?? null);
    body.replaceChildren(...drawn.filter((part) => part !== null));
  };
  const runs = new RunChoice(key, tools, show);
  show(null);
  place.append(runs.element, body);
  return runs.ready;
}

class RunChoice {
  #asked = 0; // only the latest question's answer is shown

  /**
   * @param {string} key
   * @param {Tools} tools
   * @param {(own: OwnRun | null) => unknown} show
   */
  constructor(key, tools, show) {
    const { h } = tools;
    this.key = key;
    this.tools = tools;
    this.show = show;
    this.said = h("p", { class: "lx-note", role: "status" });
    this.element = h("div", { class: "lx-runs" });
    this.ready = this.#fill();
  }

  async #fill() {
    const { h, choice } = this.tools;
    const app = await this.tools.app();
    const last = this.tools.lastRun();
    /** @type {[string, string][]} */
    const runs = [["recorded", "the recorded one"]];
    if (app?.own && last) runs.push(["last", "your last one"]);
    if (app?.runs) runs.push(["own", "your own prompt"]);
    if (runs.length === 1) return;
    this.chosen = choice("Run", runs, "recorded", (value) => this.#choose(value));
    this.prompt = h("input", {
      class: "lx-typed",
      "aria-label": "Your own prompt",
      value: last?.header?.prompt ?? "",
      placeholder: "Ask for something",
    });
    this.button = h("button", { type: "submit" }, "Run it");
    this.form = h(
      "form",
      {
        class: "lx-buttons",
        hidden: true,
        onsubmit: (/** @type {Event} */ event) => {
          event.preventDefault();
          this.#run();
        },
      },
      this.prompt,
      this.button,
    );
    this.element.append(this.chosen.element, this.form, this.said);
  }

  /** @param {string} value */
  #choose(value) {
    this.#asked += 1;
    this.said.textContent = "";
    if (this.form) this.form.hidden = value !== "own";
    if (value === "recorded") this.show(null);
    else if (value === "last") this.#look();
    else this.prompt?.focus();
  }

  /** What the chapter shows of the last run. */
  async #look() {
    const trace = recalled();
    if (!trace) return this.#refused("Your last run is no longer kept: run a prompt on Explore.");
    const packed = new Blob([JSON.stringify(trace.record())])
      .stream()
      .pipeThrough(new CompressionStream("gzip"));
    const file = await new Response(packed).blob();
    const answer = await this.#ask(file, "application/gzip", "Looking at your last run.");
    if (answer) this.#take(answer, trace);
  }

  async #run() {
    if (!this.prompt || !this.button) return;
    this.button.disabled = true;
    const body = JSON.stringify({ prompt: this.prompt.value });
    const answer = await this.#ask(body, "application/json", "Running; other runs come first.");
    this.button.disabled = false;
    if (!answer) return;
    const trace = traceOf(answer.run, "The run");
    keep(trace); // it is the visitor's last run now, which Explore opens
    this.#take(answer, trace);
  }

  /**
   * @param {Answer} answer
   * @param {Trace} trace
   */
  #take({ data, step }, trace) {
    this.show({ data, trace });
    if (recalled()) this.tools.seen(step - 1); // a run that is too long is not kept
    const { header, tokens, steps } = trace;
    const { plural } = this.tools.numbers;
    this.said.textContent = `“${header?.prompt}”: ${plural(tokens.length, "token")} in ${plural(steps.length, "step")}, ${header?.model}, ${header?.backend}`;
  }

  /**
   * @param {BodyInit} body
   * @param {string} kind
   * @param {string} meanwhile
   * @returns {Promise<Answer | null>} null: refused, or something else was asked since
   */
  async #ask(body, kind, meanwhile) {
    this.#asked += 1;
    const number = this.#asked;
    this.said.textContent = meanwhile;
    try {
      const answer = await fetch(this.tools.address(`own/${this.key}`), {
        ...{ method: "POST", body },
        headers: { "content-type": kind, "x-medusa-explorer": "1" },
      });
      const reply = answer.ok ? await answer.json() : await answer.text();
      if (number !== this.#asked) return null;
      if (answer.ok) return reply;
      this.#refused(reply);
    } catch (error) {
      if (number === this.#asked)
        this.#refused(
          `The app does not answer (${error instanceof Error ? error.message : error}).`,
        );
    }
    return null;
  }

  /** @param {string} why */
  #refused(why) {
    this.said.textContent = why;
  }
}
