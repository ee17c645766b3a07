// The text of both lanes: an element per token, its look the depth at which it was accepted.
// Only what grew is added; the step on view and the moment on the clock only change classes.

import { h, Marked, replace } from "./dom.js";
import { saving } from "./export.js";
import { plural, probability, rate, ratio } from "./numbers.js";
import { ACCEPT_STAGE } from "./store.js";
import { Assembler, readable } from "./text.js";
import { nameOf } from "./trace.js";

/**
 * @import { Explorer } from "./main.js"
 * @import { LaneFigures } from "../../types/records.js"
 * @import { Lane, Trace } from "./trace.js"
 */

const DEEPEST_LOOK = 4;
const LONGEST = 2000; // characters of one token that are shown
const TURNING = /[\u202a-\u202e\u2066-\u2069]/; // of text's direction
const MAX_BEFORE = 4096; // tokens of the continued reply that are shown

/** @param {Explorer} app */
export function lanesView(app) {
  const texts = [new LaneText("own"), new LaneText("rival")];
  const [ours, theirs] = texts;
  ours.box.addEventListener("click", (event) => {
    const at = ours.indexOf(event.target);
    if (at !== null) app.show(app.trace.tokens[at].step);
  });
  for (const text of texts) {
    text.box.addEventListener("pointerover", (event) => {
      const [at, lane] = [text.indexOf(event.target), text === ours ? app.trace : app.trace.rival];
      if (at !== null && lane)
        text.elements[at].title = text
          .sharing(at)
          .map((one) => origin(lane, one))
          .join("\n");
    });
  }
  app.store.subscribe((any) => {
    if (any("trace")) texts.forEach((text) => text.clear());
    if (any("trace", "grown")) {
      texts.forEach((text) => text.precede(app.trace));
      ours.grow(app.trace, app.trace);
      if (app.trace.rival) theirs.grow(app.trace, app.trace.rival);
      heads(app.trace, ours, theirs);
    }
    if (any("trace", "grown", "step", "clock", "playing", "follow", "resting", "stage"))
      mark(app, ours, theirs);
    if (any("hover", "row", "step", "trace")) light(app, ours);
  });
  const legend = h(
    "p",
    { class: "sx-legend" },
    h("span", { class: "d0" }, "written by the model itself"),
    " guessed right: ",
    h("span", { class: "d1" }, "1"),
    " ",
    h("span", { class: "d2" }, "2"),
    " ",
    h("span", { class: "d3" }, "3"),
    " ",
    h("span", { class: "d4" }, "4 or more"),
    " tokens ahead ",
    h("span", { class: "is-now" }, "this step"),
  );
  const element = h(
    "section",
    { class: "sx-card sx-lanes", "aria-label": "Generated text" },
    h("div", { class: "sx-two" }, ...texts.map(({ head, box }) => h("div", {}, head, box))),
    legend,
  );
  element.prepend(h("div", { class: "sx-tools" }, saving(element, "lanes", "Generated text")));
  return element;
}

class LaneText {
  /** @type {HTMLElement[]} */
  elements = []; // per token the element that shows it
  lit = new Marked("is-line");
  #assembler = new Assembler();
  /** @type {HTMLElement | null} */
  #open = null; // an element whose character is not complete yet …
  #deepest = 0; // … and the greatest depth of its tokens so far
  /** @type {HTMLElement | null} */
  #before = null; // the reply that this run continues
  /** @type {[from: number, to: number]} */
  #now = [0, 0];
  #shown = Infinity;

  /** @param {string} name */
  constructor(name) {
    this.head = h("div", { class: `sx-lane-head is-${name}` });
    this.box = h("div", {
      class: `sx-lane is-${name}`,
      tabindex: 0,
      role: "region",
      "aria-label": name === "own" ? "Text of the run" : "Text of its rival",
      dir: "auto",
    });
  }

  clear() {
    this.elements = [];
    this.#assembler = new Assembler();
    this.#open = null;
    this.#deepest = 0;
    this.#before = null;
    this.#now = [0, 0];
    this.#shown = Infinity;
    replace(this.box);
  }

  /**
   * Show the reply that the run continues, once the run has begun.
   * @param {Trace} trace
   */
  precede(trace) {
    const { header } = trace;
    const count = header?.continued_tokens ?? 0;
    if (this.#before || !header || count === 0) return;
    const shown = Math.min(count, MAX_BEFORE);
    const texts = header.prompt_ids
      .slice(-shown)
      .map((id) => this.#assembler.add(trace.piece(id)).text.slice(0, LONGEST));
    const title = `continued: ${plural(count, "token")} written before this run`;
    const text = (shown < count ? "… " : "") + readable(texts.join(""));
    this.#before = this.box.appendChild(h("span", { class: "sx-before", title }, text));
    this.box.scrollTop = this.box.scrollHeight;
  }

  /**
   * @param {Trace} trace
   * @param {Lane} lane
   */
  grow(trace, { tokens }) {
    const atEnd = this.box.scrollHeight - this.box.scrollTop - this.box.clientHeight < 30;
    for (const { id, depth } of tokens.slice(this.elements.length)) {
      this.elements.push(this.#element(trace, id, depth));
    }
    if (atEnd) this.box.scrollTop = this.box.scrollHeight;
  }

  /**
   * Frame tokens from … to − 1, and dim those from `shown` on.
   * @param {[from: number, to: number]} framed
   * @param {number} shown
   */
  mark([from, to], shown) {
    this.#toggle("is-now", ...this.#now, false);
    this.#toggle("is-now", from, to, true);
    this.#now = [from, to];
    const [before, after] = [this.#shown, shown].map((n) => Math.min(n, this.elements.length));
    if (shown < this.#shown) this.#toggle("is-later", after, this.elements.length, true);
    else this.#toggle("is-later", before, after, false);
    this.#shown = shown;
  }

  /**
   * Keep a token in sight; the page itself never scrolls.
   * @param {number} index
   * @param {boolean} last on the last line, so that what came before it is seen, too
   */
  reveal(index, last) {
    const element = this.elements[Math.min(index, this.elements.length - 1)];
    if (!element) return;
    const top = element.offsetTop;
    const { scrollTop, clientHeight } = this.box;
    const line = parseFloat(getComputedStyle(this.box).lineHeight);
    // A word begins a little below the top of its line: less than a quarter of it. A token that
    // begins with a space may stand on two lines: the word is on the second.
    const bottom = top + Math.max(0.75 * line, element.offsetHeight);
    if (!last && top >= scrollTop && bottom + 0.25 * line <= scrollTop + clientHeight) return;
    this.box.scrollTop = line * Math.ceil(Math.max(0, bottom - clientHeight) / line);
  }

  /**
   * The token that an element shows, the first of several; null: none.
   * @param {EventTarget | null} element
   */
  indexOf(element) {
    const at = this.elements.indexOf(/** @type {HTMLElement} */ (element));
    return at < 0 ? null : at;
  }

  /**
   * The tokens that share their element with one: together they are a character.
   * @param {number} at
   */
  sharing(at) {
    const last = this.elements.lastIndexOf(this.elements[at]);
    return Array.from({ length: last - at + 1 }, (_, i) => at + i);
  }

  /**
   * A character of several tokens looks as its farthest guess: the first may be the model's own.
   * @param {Trace} trace
   * @param {number} id
   * @param {number} depth
   */
  #element(trace, id, depth) {
    if (trace.header?.eos_ids.includes(id)) {
      return this.box.appendChild(h("span", { class: "sx-eos", title: "end of sequence" }, "end"));
    }
    const { text, rest } = this.#assembler.add(trace.piece(id));
    const element = this.#open ?? this.box.appendChild(h("span"));
    const [short, cut] = [text.slice(0, LONGEST), text.length > LONGEST ? " …" : ""];
    this.#deepest = this.#open ? Math.max(this.#deepest, depth) : depth;
    const look = `d${Math.min(this.#deepest, DEEPEST_LOOK)}`;
    element.className = `sx-tok ${look}${TURNING.test(text) ? " is-turning" : ""}`;
    element.textContent = readable(short) + cut + rest;
    this.#open = rest ? element : null;
    return element;
  }

  /**
   * @param {string} name
   * @param {number} from
   * @param {number} to
   * @param {boolean} on
   */
  #toggle(name, from, to, on) {
    for (let i = from; i < Math.min(to, this.elements.length); i += 1) {
      this.elements[i].classList.toggle(name, on);
    }
  }
}

/**
 * @param {Explorer} app
 * @param {LaneText} ours
 * @param {LaneText} theirs
 */
function mark(app, ours, theirs) {
  const { trace, state } = app;
  ours.box.parentElement?.parentElement?.classList.toggle("is-racing", state.playing);
  if (state.step === null) return;
  const end = trace.tokensBy[state.step];
  const begin = end - trace.steps[state.step].emitted.length;
  const moment = app.moment;
  // Until guesses are accepted, a step's root is all that is known of it.
  const known = state.stage < ACCEPT_STAGE ? begin + 1 : end;
  ours.mark([begin, known], moment === null && known === end ? Infinity : known);
  const written = moment === null ? Infinity : (trace.rival?.tokensAt(moment) ?? 0);
  theirs.mark([0, 0], written);
  if (moment === null) return;
  app.store.afterwards(() => {
    ours.reveal(known - 1, state.presenter);
    theirs.reveal(written - 1, state.presenter);
  });
}

/**
 * The tokens of the accepted path that lie on the line of the node in focus.
 * @param {Explorer} app
 * @param {LaneText} ours
 */
function light(app, ours) {
  if (!app.view || app.state.hover === null) return ours.lit.set([]);
  const { step, index } = app.view;
  const begin = app.trace.tokensBy[index] - step.emitted.length;
  const line = new Set(app.focusLine);
  return ours.lit.set(
    step.accepted.flatMap((row, depth) => (line.has(row) && ours.elements[begin + depth]) || []),
  );
}

/**
 * @param {Lane} lane
 * @param {number} at
 */
function origin(lane, at) {
  const { step, depth } = lane.tokens[at];
  const record = lane.steps[step];
  const prob = probability(record.base_probs[record.accepted[depth]] ?? 1);
  const how = depth === 0 ? "root" : `accepted at depth ${depth}`;
  return `step ${step + 1}, ${how}, probability ${prob}`;
}

/**
 * @param {Trace} trace
 * @param {LaneText} ours
 * @param {LaneText} theirs
 */
function heads(trace, ours, theirs) {
  const { figures } = trace;
  const lacking = trace.header?.settings.method === "plain" ? " (no heads are loaded)" : "";
  fillHead(ours.head, nameOf(trace) + lacking, trace, figures?.lane);
  if (trace.rival) fillHead(theirs.head, nameOf(trace.rival), trace.rival, figures?.rival);
  else replace(theirs.head);
}

/**
 * @param {HTMLElement} element
 * @param {string} name
 * @param {Lane} lane
 * @param {LaneFigures | undefined} figures
 */
function fillHead(element, name, lane, figures) {
  const perStep = figures?.tokens_per_step ?? null;
  replace(
    element,
    h("h2", {}, name),
    h("span", {}, h("b", {}, rate(figures?.tokens_per_second ?? null)), " tokens/s"),
    h("span", {}, perStep === null ? "" : `${ratio(perStep)} tokens per step`),
    h("span", {}, lane.tokens.length ? plural(lane.tokens.length, "token") : ""),
  );
}
