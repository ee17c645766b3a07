// Words that explain themselves: a dotted underline, and one sentence of the glossary on hover, on
// focus and on a tap. The pointer may move onto the sentence; Tab leads from the word to the
// sentence's link and on to what follows the word; Escape closes it.

import { h } from "./dom.js";
import { GLOSSARY, LESSONS } from "./glossary.js";

const [GAP, EDGE] = [6, 8]; // pixels between word and sentence, and to the window's edge
const LINGER_MS = 150; // time for the pointer's way from the word to the sentence

/** @typedef {{ left: number, top: number, width: number, height: number }} Box */

/**
 * A text whose word the glossary knows, as an element that explains it; else the text.
 * @param {string} text
 * @param {string} [word] the glossary's, where the text says it in another way
 * @returns {HTMLElement | string}
 */
export function explained(text, word = wordOf(text)) {
  const meaning = GLOSSARY[word];
  if (!meaning) return text;
  const element = h("button", { type: "button", class: "sx-term" }, text);
  explain(element, meaning, { lesson: LESSONS[word] });
  return element;
}

/**
 * Give an element a sentence that explains it.
 * @param {HTMLElement} element
 * @param {string} meaning
 * @param {{ hover?: boolean, focus?: boolean, lesson?: string }} [more] what opens it, besides a tap;
 *   the chapter of Learn that says more
 */
export function explain(element, meaning, { hover = true, focus = true, lesson } = {}) {
  const show = () => tip.show(element, meaning, lesson);
  element.addEventListener("click", show); // a tap, where nothing hovers and buttons get no focus
  if (hover) element.addEventListener("pointerenter", show);
  if (hover) element.addEventListener("pointerleave", () => tip.leave());
  if (focus) element.addEventListener("focus", show);
  if (focus) element.addEventListener("blur", ({ relatedTarget }) => tip.left(relatedTarget));
}

/**
 * The glossary's word for a title: it has no capital at the start, unless it is an abbreviation.
 * @param {string} text
 */
export const wordOf = (text) =>
  text in GLOSSARY ? text : text.charAt(0).toLowerCase() + text.slice(1);

/**
 * Where a sentence of some size stands: below its word, above where no room is left below, and
 * inside the window.
 * @param {Box} word
 * @param {{ width: number, height: number }} size
 * @param {{ width: number, height: number }} view
 */
export function placed(word, size, view) {
  const below = word.top + word.height + GAP;
  const fits = below + size.height + EDGE <= view.height;
  const top = fits ? below : Math.max(EDGE, word.top - GAP - size.height);
  const left = Math.max(EDGE, Math.min(word.left, view.width - EDGE - size.width));
  return { left, top };
}

/** The one sentence that is open, if one is. */
const tip = {
  /** @type {HTMLElement | null} */
  element: null,
  /** @type {HTMLElement | null} */
  owner: null,
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  leaving: undefined,

  /**
   * @param {HTMLElement} owner
   * @param {string} meaning
   * @param {string} [lesson]
   */
  show(owner, meaning, lesson) {
    clearTimeout(this.leaving);
    if (this.owner === owner) return;
    this.hide();
    const more = lesson ? linkTo(lesson) : null;
    const element = h("div", { class: "sx-tip", role: "tooltip", id: "sx-tip" }, meaning, more);
    element.addEventListener("pointerenter", () => clearTimeout(this.leaving));
    element.addEventListener("pointerleave", () => this.leave());
    (owner.closest(".sx") ?? document.body).append(element);
    const { left, top } = placed(owner.getBoundingClientRect(), element.getBoundingClientRect(), {
      width: document.documentElement.clientWidth,
      height: document.documentElement.clientHeight,
    });
    Object.assign(element.style, { left: `${left}px`, top: `${top}px` });
    owner.setAttribute("aria-describedby", "sx-tip");
    [this.element, this.owner] = [element, owner];
    document.addEventListener("keydown", closeOnEscape, true);
    document.addEventListener("keydown", stepThrough, true);
    document.addEventListener("pointerdown", closeElsewhere, true);
    document.addEventListener("scroll", close, true);
  },

  /**
   * The focus has left its word, perhaps for the sentence's own link.
   * @param {EventTarget | null} to
   */
  left(to) {
    if (!this.element?.contains(/** @type {Node | null} */ (to))) this.hide();
  },

  leave() {
    this.leaving = setTimeout(close, LINGER_MS);
  },

  hide() {
    clearTimeout(this.leaving);
    this.element?.remove();
    this.owner?.removeAttribute("aria-describedby");
    [this.element, this.owner] = [null, null];
    document.removeEventListener("keydown", closeOnEscape, true);
    document.removeEventListener("keydown", stepThrough, true);
    document.removeEventListener("pointerdown", closeElsewhere, true);
    document.removeEventListener("scroll", close, true);
  },
};

const close = () => tip.hide();

/**
 * A link to a chapter of Learn; none where the page has no such neighbour (a saved run).
 * @param {string} lesson
 * @param {string} [text]
 */
export function linkTo(lesson, text = "Learn more") {
  const page = document.querySelector('.mx-pages a[href^="learn"]')?.getAttribute("href");
  return page ? h("a", { class: "sx-more", href: `${page}#${lesson}` }, text) : null;
}

/**
 * Only the sentence closes: presenter mode, which Escape leaves too, stays.
 * @param {KeyboardEvent} event
 */
function closeOnEscape(event) {
  if (event.key !== "Escape") return;
  event.stopPropagation();
  const within = tip.element?.contains(document.activeElement);
  const { owner } = tip;
  close();
  if (within) owner?.focus({ preventScroll: true });
  close(); // the focus has opened it again
}

/**
 * The sentence stands at the page's end, its link belongs after its word: Tab goes there from the
 * word, and from there to what follows the word (or, with Shift, back to it).
 * @param {KeyboardEvent} event
 */
function stepThrough(event) {
  if (event.key !== "Tab" || event.ctrlKey || event.altKey || event.metaKey) return;
  const { owner } = tip;
  const link = tip.element?.querySelector("a");
  if (!owner || !link) return;
  if (document.activeElement === owner && !event.shiftKey) {
    event.preventDefault();
    link.focus({ preventScroll: true });
  } else if (document.activeElement === link) {
    if (event.shiftKey) event.preventDefault();
    owner.focus({ preventScroll: true }); // without Shift, Tab goes on from here
  }
}

/** @param {Event} event */
function closeElsewhere({ target }) {
  const inside = [tip.element, tip.owner].some((one) =>
    one?.contains(/** @type {Node} */ (target)),
  );
  if (!inside) close();
}
