// The foresight map: the whole reply as text, each token shaded by how many tokens ahead some head
// already had it. A card of the step explorer, and a part of a chapter of Learn.

import { card } from "./card.js";
import { h, Marked, replace, select } from "./dom.js";
import { knownBy, tokensAhead } from "./foresight.js";
import { ordinal, percent, plural, probability } from "./numbers.js";
import { Assembler, readable, shortened } from "./text.js";
import { Trace } from "./trace.js";

/**
 * @import { Explorer } from "./main.js"
 * @import { Child } from "./dom.js"
 * @import { Known } from "./foresight.js"
 */

/** @type {[value: string, text: string][]} */
const TOPS = [
  ["1", "first guess"],
  ["3", "best 3"],
  ["10", "best 10"],
];
const DEEPEST_LOOK = 4;
const LONGEST = 2000; // characters of one token that are shown
const WORDS = 5; // tokens before a hidden state that are quoted

export class ForesightMap {
  #trace = new Trace();
  /** @type {Known[][]} */
  #known = []; // per token shown
  /** @type {HTMLElement[]} */
  #tokens = [];
  #assembler = new Assembler();
  #source = new Marked("is-source");
  #top = 1;
  #heads = Infinity;
  #chosen = -1;
  #end = -1; // the token that ended the text

  /** @param {(index: number, trace: Trace) => Child} [more] what else is said of a token */
  constructor(more = () => null) {
    this.more = more;
    this.text = h("div", {
      class: "sx-foresight-text",
      role: "listbox",
      "aria-label": "The reply, token by token",
      dir: "auto",
      onclick: (/** @type {MouseEvent} */ event) =>
        this.choose(this.#tokens.indexOf(/** @type {HTMLElement} */ (event.target))),
      onkeydown: (/** @type {KeyboardEvent} */ event) => this.#key(event),
    });
    this.legend = h("p", { class: "sx-foresight-legend", "aria-live": "polite" });
    this.detail = h("div", { class: "sx-foresight-detail", "aria-live": "polite" });
    const output = h("output", {});
    this.slider = h("input", {
      type: "range",
      min: 1,
      max: 1,
      value: 1,
      "aria-label": "Heads that count",
      oninput: () => this.#limit(Number(this.slider.value)),
    });
    this.output = output;
    this.controls = h(
      "div",
      { class: "sx-foresight-controls" },
      select("A head had a token if it was among its", TOPS, "1", (value) => {
        this.#top = Number(value);
        this.#shade();
      }),
      h("label", {}, "heads 1 to ", output, this.slider),
    );
    this.element = h("div", { class: "sx-foresight" }, this.legend, this.text, this.detail);
  }

  /** Show a run from its beginning. @param {Trace} trace */
  show(trace) {
    this.#trace = trace;
    [this.#known, this.#tokens, this.#chosen, this.#end] = [[], [], -1, -1];
    this.#assembler = new Assembler();
    const heads = trace.header?.num_heads ?? 0;
    this.slider.max = String(Math.max(1, heads));
    this.slider.value = this.slider.max;
    this.#heads = heads;
    this.output.textContent = String(heads);
    replace(this.text);
    this.grow();
  }

  /** Show what the run wrote since; heads may also have been recorded late. */
  grow() {
    const { tokens } = this.#trace;
    for (let i = this.#tokens.length; i < tokens.length; i += 1) this.#append(i);
    this.#known = tokens.map((_, i) => knownBy(this.#trace, i));
    this.#shade();
  }

  /** Show which head or method predicted a token. @param {number} index */
  choose(index) {
    if (!(index in this.#tokens)) return;
    this.#reach(this.#chosen, false);
    this.#chosen = index;
    this.#reach(index, true);
    this.#showToken();
  }

  /** How many tokens ahead each token was predicted, as it is shaded now. */
  get ahead() {
    return this.#known.map((known) => tokensAhead(known, this.#top, this.#heads));
  }

  /** @param {number} heads */
  #limit(heads) {
    this.#heads = heads;
    this.output.textContent = String(heads);
    this.#shade();
  }

  /** @param {number} index */
  #append(index) {
    const { id } = this.#trace.tokens[index];
    const ends = this.#trace.header?.eos_ids.includes(id);
    const { text, rest } = ends
      ? { text: "end", rest: "" }
      : this.#assembler.add(this.#trace.piece(id));
    const shown = readable(text.slice(0, LONGEST)) + rest;
    const element = h("span", { role: "option", "aria-selected": "false", tabindex: -1 }, shown);
    if (ends) this.#end = index;
    this.#tokens.push(element);
    this.text.append(element);
  }

  #shade() {
    const { ahead } = this;
    this.#source.set([]);
    ahead.forEach((lead, i) => {
      const element = this.#tokens[i];
      const end = i === this.#end ? " sx-eos" : "";
      element.className = `sx-tok f${Math.min(lead, DEEPEST_LOOK)}${end}`;
      element.setAttribute(
        "aria-label",
        `${this.#name(i)}, ${lead ? `${lead} ahead` : "not foreseen"}`,
      );
    });
    replace(
      this.legend,
      ...legendOf(ahead, Math.min(this.#heads, 16)),
      this.#alongPath ? " Heads read their path here: given the right tokens between." : null,
    );
    const none = !this.#trace.header?.num_heads;
    if (none && this.#tokens.length)
      replace(
        this.legend,
        "This run recorded no guesses of heads: run Medusa, or choose a recorded run.",
      );
    if (this.#chosen < 0 && ahead.length) this.choose(ahead.indexOf(Math.max(...ahead)));
    else this.#showToken();
  }

  /** Whether heads were given the text that followed, as Hydra heads are. */
  get #alongPath() {
    const { header } = this.#trace;
    return header?.shown?.along_path ?? header?.settings.method === "hydra";
  }

  /** @param {number} index */
  #name(index) {
    return shortened(this.#trace.piece(this.#trace.tokens[index].id).label, 40);
  }

  #showToken() {
    const index = this.#chosen;
    if (!(index in this.#tokens)) {
      this.#source.set([]);
      return replace(this.detail);
    }
    const known = this.#known[index];
    const counted = known.filter(({ rank, head }) => rank < this.#top && head <= this.#heads);
    const last = counted.at(-1);
    const prompt = this.#trace.header?.prompt_ids.length ?? 0;
    this.#source.set(last ? [this.#tokens[last.position - prompt]].filter(Boolean) : []);
    replace(
      this.detail,
      h(
        "p",
        {},
        h("b", {}, `‘${this.#name(index)}’ `),
        this.#sentence(last),
        this.more(index, this.#trace),
      ),
      h("ul", {}, ...known.map((one) => this.#line(one, counted.includes(one)))),
    );
  }

  /** @param {Known | undefined} last */
  #sentence(last) {
    if (!last) return "No head had it in its guesses that count. ";
    const between = last.head - 1;
    const given =
      between && this.#alongPath
        ? `, if the ${plural(between, "token")} between had been guessed right, which it reads`
        : "";
    return `Head ${last.head} had it ${plural(last.head, "token")} before the base model's turn, when the text ended with ${this.#before(last.position)}${given}. `;
  }

  /** @param {Known} known @param {boolean} counts */
  #line({ head, rank, probability: share, position }, counts) {
    return h(
      "li",
      { class: counts ? null : "is-quiet" },
      `Head ${head}: ${ordinal(rank + 1)} guess, ${probability(share)}, from the hidden state at position ${position} (${this.#before(position)})`,
    );
  }

  /** The words before and at a position. @param {number} position */
  #before(position) {
    const { header, tokens } = this.#trace;
    const prompt = header?.prompt_ids.length ?? 0;
    const last = position - prompt;
    if (last < 0) return "the prompt";
    const words = tokens.slice(Math.max(0, last - WORDS + 1), last + 1);
    return `‘${last >= WORDS ? "…" : ""}${words.map(({ id }) => shortened(this.#trace.piece(id).label, 20)).join("")}’`;
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const to = {
      ArrowLeft: this.#chosen - 1,
      ArrowRight: this.#chosen + 1,
      Home: 0,
      End: this.#tokens.length - 1,
    }[event.key];
    if (to === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    this.choose(to);
    this.#tokens[this.#chosen]?.focus();
  }

  /** @param {number} index @param {boolean} on */
  #reach(index, on) {
    const element = this.#tokens[index];
    element?.setAttribute("aria-selected", String(on));
    element?.setAttribute("tabindex", on ? "0" : "-1");
  }
}

/**
 * What shades mean, and how many tokens have each.
 * @param {number[]} ahead
 * @param {number} heads
 */
function legendOf(ahead, heads) {
  const share = (/** @type {number} */ lead) =>
    percent(ahead.length ? ahead.filter((one) => one === lead).length / ahead.length : null);
  const entry = (/** @type {number} */ lead, /** @type {string} */ text) =>
    h(
      "span",
      {},
      h("i", { class: `sx-tok f${Math.min(lead, DEEPEST_LOOK)}` }, "abc"),
      ` ${text} ${share(lead)}`,
    );
  return [
    entry(0, "nobody"),
    ...Array.from({ length: heads }, (_, i) => entry(i + 1, `${i + 1} ahead`)),
  ];
}

/**
 * The map as a card of the step explorer.
 * @param {Explorer} app
 */
export function foresightView(app) {
  const map = new ForesightMap((index, trace) => {
    const { step } = trace.tokens[index];
    return h("button", { type: "button", onclick: () => app.show(step) }, `Show step ${step + 1}`);
  });
  const { element, tools } = card(
    "foresight-card",
    "Foresight map",
    "how many tokens ahead some head already had each token",
  );
  tools.prepend(map.controls);
  element.append(map.element);
  app.store.subscribe((any) => {
    if (any("trace")) map.show(app.trace);
    else if (any("grown", "live") && !app.state.live) map.grow();
  });
  return element;
}
