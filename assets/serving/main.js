// The steps of one request of a server: the timeline of Explore, and the text that each step wrote.

import { BOTTOM, barPaths, DEPTHS, LEFT, MIN_CAPACITY, WIDEST } from "../step_explorer/bars.js";
import { h, replace, s } from "../step_explorer/dom.js";
import { count, plural } from "../step_explorer/numbers.js";
import { loadStyles } from "../step_explorer/styles.js";

/**
 * A message of explorer/ui/serving_steps.py; a step is accepted drafts, tokens and text.
 * @typedef {object} ServedMessage
 * @property {string} note why there are no steps
 * @property {string} first what came before the first step
 * @property {[accepted: number, tokens: number, text: string][]} steps
 * @property {number} drafts of a step
 */

const [HEIGHT, ABOVE, MIN_WIDTH] = [84, 6, 320];
const STYLES = ["palette", "base", "pictures", "charts"].map(
  (name) => `../step_explorer/${name}.css`,
);
/** @type {Record<string, (step: number, steps: number) => number>} */
const KEYS = {
  ArrowRight: (step) => step + 1,
  ArrowLeft: (step) => step - 1,
  Home: () => 0,
  End: (_, steps) => steps - 1,
};

export class ServedSteps {
  /** @type {ServedMessage} */
  message = { note: "", first: "", steps: [], drafts: 0 };
  step = 0;

  /** @param {Element} element */
  constructor(element) {
    this.bars = Array.from({ length: DEPTHS }, (_, d) => s("path", { class: `sx-bar d${d}` }));
    this.cursor = s("rect", { class: "sx-cursor", y: 2, height: HEIGHT - 3 });
    this.axis = s("path", { class: "sx-axis" });
    this.svg = s(
      "svg",
      { role: "slider", tabindex: 0, "aria-label": "Step", height: HEIGHT, class: "vx-timeline" },
      this.axis,
      this.cursor,
      ...this.bars,
    );
    this.sentence = h("p", { class: "vx-sentence" });
    this.text = h("p", { class: "vx-text", dir: "auto" });
    element.className = "sx vx";
    element.replaceChildren(this.svg, this.sentence, this.text);
    this.#listen();
  }

  /** @param {string} message */
  receive(message) {
    this.message = JSON.parse(message);
    this.step = 0;
    this.draw();
  }

  /** @param {number} step */
  show(step) {
    this.step = Math.max(0, Math.min(this.message.steps.length - 1, step));
    this.#place();
  }

  draw() {
    const { steps } = this.message;
    const none = steps.length === 0;
    this.svg.toggleAttribute("hidden", none);
    if (none) {
      replace(this.sentence, this.message.note);
      replace(this.text, this.message.first);
      return;
    }
    const { width, slot } = this.#scale();
    const most = Math.max(3, this.message.drafts + 1);
    this.svg.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
    this.svg.setAttribute("width", String(width));
    this.axis.setAttribute("d", `M0 ${HEIGHT - BOTTOM}H${width}`);
    const lengths = steps.map(([, tokens]) => tokens);
    barPaths(lengths, { slot, most, top: ABOVE, height: HEIGHT }).forEach(
      (path, d) => void this.bars[d].setAttribute("d", path),
    );
    this.#place();
  }

  #scale() {
    const width = Math.max(MIN_WIDTH, this.svg.parentElement?.clientWidth ?? 0);
    const capacity = Math.max(MIN_CAPACITY, this.message.steps.length);
    return { width, slot: Math.min(WIDEST, (width - 2 * LEFT) / capacity) };
  }

  #place() {
    const { steps, drafts, first } = this.message;
    if (steps.length === 0) return;
    const { slot } = this.#scale();
    const [accepted, tokens] = steps[this.step];
    this.cursor.setAttribute("x", String(LEFT + this.step * slot - 1));
    this.cursor.setAttribute("width", String(Math.max(3, slot + 1)));
    const sentence =
      `Step ${count(this.step + 1)} of ${count(steps.length)}: ` +
      `${accepted} of ${plural(drafts, "draft")} accepted, ${plural(tokens, "token")} written.`;
    replace(this.sentence, sentence);
    this.svg.setAttribute("aria-valuemin", "1");
    this.svg.setAttribute("aria-valuemax", String(steps.length));
    this.svg.setAttribute("aria-valuenow", String(this.step + 1));
    this.svg.setAttribute("aria-valuetext", sentence);
    const texts = steps.map(([, , text]) => text);
    replace(
      this.text,
      first + texts.slice(0, this.step).join(""),
      h("mark", {}, texts[this.step]),
      texts.slice(this.step + 1).join(""),
    );
  }

  #listen() {
    const seek = (/** @type {PointerEvent} */ event) => {
      const x = event.clientX - this.svg.getBoundingClientRect().left - LEFT;
      this.show(Math.floor(x / this.#scale().slot));
    };
    this.svg.addEventListener("pointerdown", (event) => {
      this.svg.setPointerCapture(event.pointerId);
      seek(event);
    });
    this.svg.addEventListener("pointermove", (event) => event.buttons && seek(event));
    this.svg.addEventListener("keydown", (event) => {
      const next = KEYS[event.key];
      if (!next) return;
      event.preventDefault();
      this.show(next(this.step, this.message.steps.length));
    });
    let width = 0;
    new ResizeObserver(([{ contentRect }]) => {
      if (contentRect.width !== width) this.draw();
      width = contentRect.width;
    }).observe(this.sentence);
  }
}

/**
 * Load the style sheets, then build the steps inside an element.
 * @param {Element} element
 */
export async function mount(element) {
  await loadStyles(STYLES.map((name) => new URL(name, import.meta.url).href));
  return new ServedSteps(element);
}
