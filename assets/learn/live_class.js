// A class with the loaded model: asked of the running app, where it is one's own.

/**
 * @import { Tools } from "./kit.js"
 * @import { Class } from "./training.js"
 * @typedef {{ can: boolean, running: boolean, said: string, lesson: Class | null }} State
 */

const EVERY = 1500; // ms between two looks

export class LiveClass {
  /**
   * @param {Tools} tools
   * @param {(lesson: Class | null) => void} show null: the class was forgotten
   */
  constructor(tools, show) {
    const { h } = tools;
    this.tools = tools;
    this.show = show;
    this.seen = 0;
    const button = (/** @type {string} */ text, /** @type {string} */ does) =>
      h("button", { type: "button", hidden: true, onclick: () => this.#ask(does) }, text);
    this.begin = button("Train a head in class", "start");
    this.stop = button("Stop", "stop");
    this.reset = button("Reset", "reset");
    this.keep = button("Keep as a folder", "keep");
    this.said = h("p", { class: "lx-note", role: "status" });
    this.buttons = [this.begin, this.stop, this.reset, this.keep];
  }

  /** What the running app has of a class; nothing, where there is no app. */
  async look() {
    if (!this.tools.live) {
      this.said.textContent = "To train live, run the app on your own machine: python app.py";
      return;
    }
    await this.#ask("");
  }

  /** @param {string} does */
  async #ask(does) {
    const address = this.tools.address(`class${does && `/${does}`}`);
    const options = does ? { method: "POST", headers: { "x-medusa-explorer": "1" } } : {};
    try {
      const answer = await fetch(address, options);
      if (!answer.ok) throw new Error(await answer.text());
      this.#show(await answer.json());
    } catch (error) {
      this.said.textContent = `The app does not answer (${error instanceof Error ? error.message : error}).`;
    }
  }

  /** @param {State} state */
  #show({ can, running, said, lesson }) {
    this.begin.hidden = !can || running;
    this.stop.hidden = !running;
    this.reset.hidden = running || !lesson;
    this.keep.hidden = running || !lesson;
    this.said.textContent = said;
    const frames = lesson?.frames.length ?? 0;
    if (frames !== this.seen && (frames || !running)) this.show(frames ? lesson : null);
    this.seen = frames;
    clearTimeout(this.timer);
    if (running) this.timer = setTimeout(() => this.said.isConnected && this.#ask(""), EVERY);
  }

  /** @type {ReturnType<typeof setTimeout> | undefined} */
  timer;
}
