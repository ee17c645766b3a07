// The text of both lanes: an element per token, its look the depth at which it was accepted.
// Only what grew is added; the step on view and the moment on the clock only change classes.

import { h, Marked, replace } from "./dom.js";
import { saving } from "./export.js";
import { plural, probability, rate, ratio } from "./numbers.js";
import { raceFigures } from "./stats.js";
import { LAST_STAGE } from "./store.js";
import { Assembler, readable } from "./text.js";
import { nameOf } from "./trace.js";

/**
 * @import { Explorer } from "./main.js"
 * @import { Trace } from "./trace.js"
 * @import { EmittedToken } from "../../types/page.js"
 */

const DEEPEST_LOOK = 4;
const LONGEST = 2000; // characters of one token that are shown
const MAX_BEFORE = 4096; // tokens of the continued reply that are shown

/** @param {Explorer} app */
export function lanesView(app) {
  const [medusa, plain] = [new Lane("medusa"), new Lane("plain")];
  medusa.box.addEventListener("click", (event) => {
    const at = medusa.indexOf(event.target);
    if (at !== null) app.show(app.trace.tokens[at].step);
  });
  medusa.box.addEventListener("pointerover", (event) => {
    const at = medusa.indexOf(event.target);
    if (at !== null) medusa.elements[at].title = origin(app.trace, at);
  });
  app.store.subscribe((any) => {
    if (any("trace")) [medusa, plain].forEach((lane) => lane.clear());
    if (any("trace", "grown")) {
      [medusa, plain].forEach((lane) => lane.precede(app.trace));
      medusa.grow(
        app.trace,
        app.trace.tokens.map((token) => token.id),
        app.trace.tokens,
      );
      plain.grow(
        app.trace,
        app.trace.plain.map((token) => token.token_id),
        null,
      );
      heads(app, medusa, plain);
    }
    if (any("trace", "grown", "step", "clock", "playing", "follow", "stage"))
      mark(app, medusa, plain);
    if (any("hover", "row", "step", "trace")) light(app, medusa);
  });
  const legend = h(
    "p",
    { class: "sx-legend" },
    "tokens: ",
    h("span", { class: "d0" }, "root or bonus"),
    " ",
    h("span", { class: "d1" }, "depth 1"),
    " ",
    h("span", { class: "d2" }, "2"),
    " ",
    h("span", { class: "d3" }, "3"),
    " ",
    h("span", { class: "d4" }, "4 or deeper"),
    " ",
    h("span", { class: "is-now" }, "this step"),
  );
  const element = h(
    "section",
    { class: "sx-card sx-lanes", "aria-label": "Generated text" },
    medusa.head,
    medusa.box,
    plain.head,
    plain.box,
    legend,
  );
  element.prepend(h("div", { class: "sx-tools" }, saving(element, "lanes", "Generated text")));
  return element;
}

class Lane {
  /** @type {HTMLElement[]} */
  elements = []; // per token the element that shows it
  lit = new Marked("is-line");
  #assembler = new Assembler();
  /** @type {HTMLElement | null} */
  #open = null; // an element whose character is not complete yet
  /** @type {HTMLElement | null} */
  #before = null; // the reply that this run continues
  /** @type {[from: number, to: number]} */
  #now = [0, 0];
  #shown = Infinity;

  /** @param {string} name */
  constructor(name) {
    this.head = h("div", { class: `sx-lane-head sx-${name}-head` });
    this.box = h("div", {
      class: `sx-lane sx-${name}-text`,
      tabindex: 0,
      role: "region",
      "aria-label": `Text of ${name} decoding`,
      dir: "auto",
    });
  }

  clear() {
    this.elements = [];
    this.#assembler = new Assembler();
    this.#open = null;
    this.#before = null;
    this.#now = [0, 0];
    this.#shown = Infinity;
    replace(this.box);
  }

  /**
   * Show the reply that the run goes on from, once the run has begun.
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
   * @param {number[]} ids
   * @param {EmittedToken[] | null} origins
   */
  grow(trace, ids, origins) {
    const atEnd = this.box.scrollHeight - this.box.scrollTop - this.box.clientHeight < 30;
    for (let i = this.elements.length; i < ids.length; i += 1) {
      const look = origins ? `d${Math.min(origins[i].depth, DEEPEST_LOOK)}` : "";
      this.elements.push(this.#element(trace, ids[i], look));
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
   */
  reveal(index) {
    const element = this.elements[Math.min(index, this.elements.length - 1)];
    if (!element) return;
    const top = element.offsetTop;
    const { scrollTop, clientHeight } = this.box;
    const line = parseFloat(getComputedStyle(this.box).lineHeight);
    if (top >= scrollTop && top + line <= scrollTop + clientHeight) return;
    this.box.scrollTop = line * Math.ceil(Math.max(0, top + line - clientHeight) / line);
  }

  /**
   * The token that an element shows; null: none.
   * @param {EventTarget | null} element
   */
  indexOf(element) {
    const at = this.elements.indexOf(/** @type {HTMLElement} */ (element));
    return at < 0 ? null : at;
  }

  /**
   * @param {Trace} trace
   * @param {number} id
   * @param {string} look
   */
  #element(trace, id, look) {
    if (trace.header?.eos_ids.includes(id)) {
      return this.box.appendChild(h("span", { class: "sx-eos", title: "end of sequence" }, "end"));
    }
    const { text, rest } = this.#assembler.add(trace.piece(id));
    const element = this.#open ?? this.box.appendChild(h("span"));
    const [short, cut] = [text.slice(0, LONGEST), text.length > LONGEST ? " …" : ""];
    element.className = `sx-tok ${look}`;
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
 * @param {Lane} medusa
 * @param {Lane} plain
 */
function mark(app, medusa, plain) {
  const { trace, state } = app;
  if (state.step === null) return;
  const end = trace.tokensBy[state.step];
  const begin = end - trace.steps[state.step].emitted.length;
  const moment = app.moment;
  // Until a step is committed, its root is all that is known of it.
  const known = state.stage < LAST_STAGE ? begin + 1 : end;
  medusa.mark([begin, known], moment === null && known === end ? Infinity : known);
  const theirs = moment === null ? Infinity : trace.plainAt(moment);
  plain.mark([0, 0], theirs);
  if (moment === null) return;
  app.store.afterwards(() => {
    medusa.reveal(end - 1);
    plain.reveal(theirs - 1);
  });
}

/**
 * The tokens of the accepted path that lie on the line of the node in focus.
 * @param {Explorer} app
 * @param {Lane} medusa
 */
function light(app, medusa) {
  if (!app.view || app.state.hover === null) return medusa.lit.set([]);
  const { step, index } = app.view;
  const begin = app.trace.tokensBy[index] - step.emitted.length;
  const line = new Set(app.focusLine);
  return medusa.lit.set(
    step.accepted.flatMap((row, depth) => (line.has(row) && medusa.elements[begin + depth]) || []),
  );
}

/**
 * @param {Trace} trace
 * @param {number} at
 */
function origin(trace, at) {
  const { step, depth } = trace.tokens[at];
  const record = trace.steps[step];
  const prob = probability(record.base_probs[record.accepted[depth]] ?? 1);
  const how = depth === 0 ? "root" : `accepted at depth ${depth}`;
  return `step ${step + 1}, ${how}, probability ${prob}`;
}

/**
 * @param {Explorer} app
 * @param {Lane} medusa
 * @param {Lane} plain
 */
function heads(app, medusa, plain) {
  const { trace } = app;
  const figures = raceFigures(trace);
  const lacking = trace.header?.settings.method === "plain" ? " (no heads are loaded)" : "";
  const perStep = figures.perStep === null ? "" : `${ratio(figures.perStep)} tokens per step`;
  head(medusa.head, nameOf(trace) + lacking, figures.medusa, perStep, trace.tokens.length);
  head(
    plain.head,
    "Plain",
    figures.plain,
    trace.plain.length ? "1 token per step" : "",
    trace.plain.length,
  );
}

/**
 * @param {HTMLElement} element
 * @param {string} name
 * @param {number | null} perSecond
 * @param {string} extra
 * @param {number} tokens
 */
function head(element, name, perSecond, extra, tokens) {
  const speed = h("span", {}, h("b", {}, rate(perSecond)), " tokens/s");
  replace(
    element,
    h("h2", {}, name),
    speed,
    h("span", {}, extra),
    h("span", {}, tokens ? plural(tokens, "token") : ""),
  );
}
