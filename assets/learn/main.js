// Learn: one chapter at a time. Widgets and their data come when their chapter is opened.

import { followColours } from "../step_explorer/colours.js";
import { h } from "../step_explorer/dom.js";
import { recalled } from "../step_explorer/keep.js";
import { explain, explained } from "../step_explorer/term.js";
import { listenToKeys } from "./keys.js";
import { Tools } from "./kit.js";

/** @typedef {{ mount: (place: HTMLElement, data: any, tools: Tools) => unknown, seenIn?: (trace: import("../step_explorer/trace.js").Trace) => number | null }} Widget */

const PRESENTED = 720; // pixels of height at which presenter mode shows all at its own size

export class Learn {
  /** @param {{ symbols: [string, string][], live: string }} settings */
  constructor(settings) {
    this.settings = settings;
    this.chapters = [...document.querySelectorAll(".lx-chapter")].map(
      (element) => /** @type {HTMLElement} */ (element),
    );
    /** @type {Map<string, Promise<Widget | null>>} */
    this.widgets = new Map();
    this.current = this.chapters[0];
    this.#words();
    this.#symbols();
    document.querySelector(".lx-foot")?.append(...this.#controls());
    listenToKeys(this);
    addEventListener("hashchange", () => this.open(location.hash.slice(1), true));
    addEventListener("resize", () => this.#scale());
    addEventListener("beforeprint", () => this.#unfold());
    this.open(location.hash.slice(1) || new URLSearchParams(location.search).get("c") || "");
  }

  /**
   * Show a chapter; one that does not exist is the first.
   * @param {string} key
   * @param {boolean} [moved] by the reader, whose focus follows
   */
  open(key, moved = false) {
    const found = this.chapters.find(({ id }) => id === key) ?? this.chapters[0];
    this.current = found;
    for (const one of this.chapters) one.classList.toggle("is-current", one === found);
    this.#mark(found.id);
    const title = found.querySelector("h2");
    document.title = `${title?.textContent?.trim()} · Learn · Medusa Explorer`;
    this.#turn();
    this.#start(found);
    if (!moved) return;
    scrollTo(0, 0);
    title?.focus({ preventScroll: true });
  }

  /** Mark a chapter in the list, which a phone scrolls sideways. @param {string} id */
  #mark(id) {
    const list = document.querySelector(".lx-list");
    for (const link of list?.querySelectorAll("a") ?? []) {
      if (link.getAttribute("href") !== `#${id}`) {
        link.removeAttribute("aria-current");
        continue;
      }
      link.setAttribute("aria-current", "page");
      const { left, width } = link.getBoundingClientRect();
      list?.scrollBy({ left: left + width / 2 - innerWidth / 2, behavior: "instant" });
    }
  }

  /** @param {number} by */
  move(by) {
    const next = this.chapters[this.chapters.indexOf(this.current) + by];
    if (next) location.hash = next.id;
  }

  /** @param {boolean} on */
  present(on) {
    document.body.classList.toggle("is-presenter", on);
    this.#scale();
  }

  get presenting() {
    return document.body.classList.contains("is-presenter");
  }

  /** Mount a chapter's widget, once. @param {HTMLElement} chapter */
  #start(chapter) {
    const { id } = chapter;
    const place = /** @type {HTMLElement | null} */ (chapter.querySelector(".lx-widget"));
    if (!place || this.widgets.has(id)) return;
    const mounted = this.#mount(id, place).catch((error) => {
      place.replaceChildren(
        h(
          "p",
          { class: "lx-problem", role: "alert" },
          `This part could not be loaded (${error instanceof Error ? error.message : error}): reload the page.`,
        ),
      );
      return null;
    });
    this.widgets.set(id, mounted);
    mounted.then((widget) => this.#seeOwn(chapter, widget));
  }

  /**
   * @param {string} key
   * @param {HTMLElement} place
   * @returns {Promise<Widget>}
   */
  async #mount(key, place) {
    const data = fetch(new URL(`../learn-data/${key}.json`, import.meta.url));
    const [widget, answer] = await Promise.all([import(`./${key}.js`), data]);
    if (!answer.ok) throw new Error("its figures are missing");
    const given = await answer.json();
    place.replaceChildren();
    const seen = (/** @type {number} */ step) => this.#see(place, step);
    const tools = new Tools(this.settings.live, seen);
    await widget.mount(place, given, tools);
    place.classList.add("is-ready");
    await tools.settled(); // who prints waits for the runs that are drawn, too
    return widget;
  }

  /**
   * A kept run that shows the same comes before the recorded one.
   * @param {HTMLElement} chapter
   * @param {Widget | null} widget
   */
  #seeOwn(chapter, widget) {
    const kept = widget?.seenIn ? recalled() : null;
    const step = kept ? widget?.seenIn?.(kept) : null;
    if (step !== null && step !== undefined) this.#see(chapter, step);
  }

  /**
   * Lead to a step of the visitor's last run.
   * @param {HTMLElement} part of a chapter
   * @param {number} step
   */
  #see(part, step) {
    const link = part.closest(".lx-chapter")?.querySelector("a[data-recorded]");
    if (!link) return;
    const before = link.previousElementSibling;
    const own = before ?? h("a", {}, "See it in your run");
    const [page] = (link.getAttribute("href") ?? "").split("#");
    own.setAttribute("href", `${page}#step=${step + 1}`);
    if (before) return;
    link.before(own);
    link.textContent = "or in a recorded run";
    const what = link.nextElementSibling;
    if (what) what.textContent = `Recorded: ${what.textContent}`;
  }

  #words() {
    for (const place of document.querySelectorAll(".lx-term")) {
      const word = place.getAttribute("data-word") ?? "";
      place.replaceWith(explained(place.textContent ?? "", word));
    }
  }

  /** Each symbol explains itself under the pointer, a formula all of its symbols on focus. */
  #symbols() {
    const { symbols } = this.settings;
    for (const formula of document.querySelectorAll(".lx-formula")) {
      /** @type {Set<string>} */
      const all = new Set();
      for (const element of formula.querySelectorAll("[data-symbol]")) {
        const meaning = symbols[Number(element.getAttribute("data-symbol"))]?.[1];
        if (!meaning) continue;
        const said = `${element.textContent}: ${meaning}`;
        all.add(said);
        explain(/** @type {HTMLElement} */ (element), said, { focus: false });
      }
      if (!all.size) continue;
      formula.setAttribute("tabindex", "0");
      explain(/** @type {HTMLElement} */ (formula), [...all].join("\n"), { hover: false });
    }
  }

  #controls() {
    const turn = (/** @type {number} */ by, /** @type {string} */ text) =>
      h("button", { type: "button", class: "lx-turn", onclick: () => this.move(by) }, text);
    this.back = turn(-1, "◂ Back");
    this.next = turn(1, "Next ▸");
    this.next.classList.add("is-main");
    const present = h(
      "button",
      {
        type: "button",
        title: "Large type for a projector (p); Esc leaves it",
        onclick: () => this.present(!this.presenting),
      },
      "Present",
    );
    const print = (/** @type {string} */ text, /** @type {string} */ title, all = false) =>
      h("button", { type: "button", title, onclick: () => this.#print(all) }, text);
    const papers = [
      print("Print", "This page on paper"),
      print("Print all", "The whole tour", true),
    ];
    return [this.back, this.next, h("span", { class: "lx-space" }), present, ...papers];
  }

  #turn() {
    const at = this.chapters.indexOf(this.current);
    const titles = this.chapters.map((one) => one.querySelector("h2")?.textContent?.trim() ?? "");
    for (const [button, other] of /** @type {const} */ ([
      [this.back, at - 1],
      [this.next, at + 1],
    ])) {
      if (!button) continue;
      button.disabled = !(other in titles);
      button.title = titles[other] ?? "";
    }
  }

  #scale() {
    const scale = this.presenting ? Math.min(3, Math.max(1.2, innerHeight / PRESENTED)) : 1;
    document.body.style.setProperty("--lx-scale", String(scale));
  }

  /** Everything that is folded away, on the pages that will be printed. */
  #unfold() {
    for (const part of document.querySelectorAll("details")) part.open = true;
  }

  /** @param {boolean} all pages, not only the one on view */
  async #print(all) {
    document.body.classList.toggle("is-printed-whole", all);
    if (all) for (const chapter of this.chapters) this.#start(chapter);
    await Promise.all(this.widgets.values());
    this.#unfold(); // what is folded away is drawn in the frames to come
    await new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)));
    globalThis.print();
    document.body.classList.remove("is-printed-whole");
  }
}

if (globalThis.document?.getElementById("lx-settings")) {
  followColours();
  const settings = document.getElementById("lx-settings")?.textContent ?? "{}";
  Object.assign(window, { learn: new Learn(JSON.parse(settings)) });
}
