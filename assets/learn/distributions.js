// Two distributions as bars that can be dragged, and beside them how often each token was written.

import { h, replace, s } from "../step_explorer/dom.js";
import { probability } from "./numbers.js";

/**
 * @import { Outcome } from "./sampling.js"
 * @typedef {{ tokens: string[], p: number[], q: number[], outcome: Outcome, expected: number[] }} Shown
 * @typedef {"p" | "q"} Which
 */

const HEIGHT = 230;
const [TOP, BOTTOM, LEFT] = [14, 34, 34];
const STEP = 0.02; // of a key
const NAMES = { p: "base model, p", q: "drafter, q" };

export class DistributionPicture {
  /** @type {Shown | null} */
  #shown = null;
  #width = 0;
  /** @type {{ which: Which, token: number } | null} */
  #dragged = null;

  /** @param {(which: Which, token: number, value: number) => void} change a bar was moved */
  constructor(change) {
    this.change = change;
    this.box = h("div", { class: "lx-chart lx-bars" });
    this.box.style.height = `${HEIGHT}px`;
    const key = (/** @type {string} */ kind, /** @type {string} */ text) =>
      h("span", {}, h("i", { class: `lx-swatch is-${kind}` }), text);
    this.element = h(
      "div",
      {},
      h(
        "p",
        { class: "lx-legend" },
        key("p", "p, base model (drag)"),
        key("q", "q, drafter (drag)"),
        key("kept", "written: kept guesses"),
        key("again", "written: drawn again"),
        key("due", "what the rule comes to"),
      ),
      this.box,
    );
    this.box.addEventListener("pointermove", (event) => this.#drag(event));
    for (const end of ["pointerup", "pointercancel"])
      this.box.addEventListener(end, () => {
        this.#dragged = null;
      });
    new ResizeObserver(() => {
      const { clientWidth } = this.box;
      if (clientWidth === 0 || clientWidth === this.#width) return; // 0: it is hidden
      this.#width = clientWidth;
      this.#draw();
    }).observe(this.box);
  }

  /** @param {Shown} shown */
  set(shown) {
    this.#shown = shown;
    if (this.#width) this.#draw();
  }

  /** @param {PointerEvent} event */
  #drag(event) {
    if (!this.#dragged || !this.#shown) return;
    const { which, token } = this.#dragged;
    const y = event.clientY - this.box.getBoundingClientRect().top;
    this.change(which, token, this.#most * (1 - (y - TOP) / (HEIGHT - TOP - BOTTOM)));
  }

  /** The axis ends at the next tenth above all values, and stays while a bar is dragged. */
  get #most() {
    if (this.#dragged) return this.kept;
    const { p = [], q = [], expected = [] } = this.#shown ?? {};
    this.kept = Math.min(1, Math.ceil(10 * Math.max(...p, ...q, ...expected) + 0.5) / 10);
    return this.kept;
  }

  kept = 1;

  #draw() {
    const shown = this.#shown;
    if (!shown) return;
    const focused = this.box.querySelector(":focus")?.getAttribute("data-bar");
    const most = this.#most;
    const up = (/** @type {number} */ value) =>
      HEIGHT - BOTTOM - (Math.min(value, most) / most) * (HEIGHT - TOP - BOTTOM);
    const group = (this.#width - LEFT) / shown.tokens.length;
    const svg = s("svg", {
      viewBox: `0 0 ${this.#width} ${HEIGHT}`,
      width: this.#width,
      height: HEIGHT,
      role: "group",
      "aria-label": "p, q and what was written, token by token",
    });
    for (const value of [0, most / 2, most])
      svg.append(
        s("path", { class: "lx-grid", d: `M${LEFT} ${up(value)}H${this.#width}` }),
        s("text", { class: "lx-tick is-end", x: LEFT - 5, y: up(value) + 4 }, value.toFixed(2)),
      );
    shown.tokens.forEach((name, token) => {
      const x = LEFT + token * group;
      svg.append(...this.#group(shown, token, name, x, group, up));
    });
    replace(this.box, svg);
    if (focused)
      /** @type {SVGElement | null} */ (svg.querySelector(`[data-bar="${focused}"]`))?.focus();
  }

  /**
   * @param {Shown} shown
   * @param {number} token
   * @param {string} name
   * @param {number} x
   * @param {number} group
   * @param {(value: number) => number} up
   */
  #group(shown, token, name, x, group, up) {
    const wide = Math.min(30, (group - 8) / 3);
    const left = x + (group - 3 * wide) / 2;
    const kept = shown.outcome.accepted[token] / shown.outcome.draws;
    const again = shown.outcome.resampled[token] / shown.outcome.draws;
    const third = left + 2 * wide + 2;
    const said = `${name}: written ${probability(kept + again)} of the time, ${probability(kept)} kept and ${probability(again)} drawn again; due ${probability(shown.expected[token])}`;
    const bar = (
      /** @type {string} */ kind,
      /** @type {number} */ from,
      /** @type {number} */ to,
    ) =>
      s("rect", {
        class: `lx-bar is-${kind}`,
        ...{ x: third, y: up(to), width: wide - 2, height: Math.max(0, up(from) - up(to)) },
      });
    const letters = Math.max(1, Math.floor(group / 7));
    return [
      this.#handle(shown, "p", token, left, wide - 2, up),
      this.#handle(shown, "q", token, left + wide, wide - 2, up),
      s(
        "g",
        { role: "img", "aria-label": said },
        s("title", {}, said),
        bar("kept", 0, kept),
        bar("again", kept, kept + again),
        s("path", {
          class: "lx-due",
          d: `M${third - 2} ${up(shown.expected[token])}h${wide + 2}`,
        }),
      ),
      s(
        "text",
        { class: "lx-token is-middle", x: x + group / 2, y: HEIGHT - 14 },
        name.length > letters ? `${name.slice(0, letters - 1)}…` : name,
      ),
    ];
  }

  /**
   * A bar that can be dragged, or moved by arrow keys.
   * @param {Shown} shown
   * @param {Which} which
   * @param {number} token
   * @param {number} x
   * @param {number} width
   * @param {(value: number) => number} up
   */
  #handle(shown, which, token, x, width, up) {
    const value = shown[which][token];
    const name = `${NAMES[which]}: ${shown.tokens[token]}`;
    const keys = /** @type {Record<string, number>} */ ({
      ArrowUp: value + STEP,
      ArrowRight: value + STEP,
      ArrowDown: value - STEP,
      ArrowLeft: value - STEP,
      PageUp: value + 5 * STEP,
      PageDown: value - 5 * STEP,
      Home: 0,
      End: 1,
    });
    return s(
      "g",
      {
        class: `lx-handle is-${which}`,
        ...{ tabindex: 0, role: "slider", "aria-label": name, "aria-orientation": "vertical" },
        ...{ "aria-valuemin": 0, "aria-valuemax": 1, "aria-valuenow": value.toFixed(3) },
        "data-bar": `${which}${token}`,
        onpointerdown: (/** @type {PointerEvent} */ event) => {
          event.preventDefault();
          this.#dragged = { which, token };
          this.box.setPointerCapture(event.pointerId);
          this.#drag(event);
        },
        onkeydown: (/** @type {KeyboardEvent} */ event) => {
          if (!(event.key in keys)) return;
          event.preventDefault();
          this.change(which, token, keys[event.key]);
        },
      },
      s("title", {}, `${name}: ${probability(value)}`),
      s("rect", { class: "lx-reach", x, y: TOP, width, height: HEIGHT - TOP - BOTTOM }),
      s("rect", {
        class: `lx-bar is-${which}`,
        ...{ x, y: up(value), width, height: Math.max(1, up(0) - up(value)) },
      }),
      s("rect", { class: "lx-grip", x, y: up(value) - 2, width, height: 4 }),
    );
  }
}
