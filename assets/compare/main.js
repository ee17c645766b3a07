// The Compare page: what to compare, how far it is, and what was measured.

import { h } from "../step_explorer/dom.js";
import { loadStyles } from "../step_explorer/styles.js";
import { batchView } from "./batch.js";
import { categoriesView } from "./by_category.js";
import { evidenceView } from "./evidence.js";
import { formulasView } from "./formulas.js";
import { lengthsView } from "./lengths.js";
import { learn } from "./methods.js";
import { Comparison } from "./model.js";
import { overlapView } from "./overlap.js";
import { setupView } from "./setup.js";
import { statusView } from "./status.js";
import { tableView } from "./table.js";
import { winsView } from "./wins.js";

/** @import { CompareRequest, CompareServer, CompareSetup, CompareView, SavedComparison } from "../../types/page.js" */

const RECORDED = new URL("recorded.json", import.meta.url);
const STYLES = [
  "../step_explorer/palette.css",
  "../step_explorer/base.css",
  "../step_explorer/layout.css",
  "../step_explorer/narrow.css",
  "compare.css",
  "setup.css",
  "tables.css",
  "charts.css",
];

export class ComparePage {
  /**
   * @param {Element} element
   * @param {CompareSetup} setup
   * @param {CompareServer} server
   */
  constructor(element, setup, server) {
    learn(setup.methods);
    this.setup = setup;
    this.server = server;
    this.comparison = new Comparison(server.missed, (what) => this.#notify(what));
    /** @type {string[]} */
    this.chosen = setup.methods.map(({ name }) => name); // methods that the table has rows for
    /** @type {string[] | null} */
    this.asked = null; // those of a comparison that the server has not begun yet
    /** @type {{ method: string | null }} */
    this.lit = { method: null }; // whose evidence is shown
    /** @type {CompareView[]} */
    const charts = [categoriesView, lengthsView, winsView].map((view) => view(this));
    this.setupForm = setupView(this);
    this.evidence = evidenceView(this);
    /** @type {CompareView[]} */
    const above = [...(setup.runs ? [this.setupForm] : []), statusView(this), tableView(this)];
    /** @type {CompareView[]} */
    const asides = setup.runs ? [overlapView(this), batchView(this)] : [];
    const below = [formulasView(this), ...asides, this.evidence];
    /** @type {CompareView[]} */
    this.views = [...above, ...charts, ...below];
    const elements = (/** @type {CompareView[]} */ views) => views.map((view) => view.element);
    const row = h("div", { class: "cx-charts" }, ...elements(charts));
    element.className = "sx cx";
    this.element = element;
    element.replaceChildren(...elements(above), row, ...elements(below));
    this.#notify("begun");
    if (!setup.runs) this.openRecorded();
  }

  /** Show the comparison that comes with the page. */
  async openRecorded() {
    const answer = await fetch(RECORDED).catch(() => null);
    if (!answer?.ok || this.comparison.live) return;
    /** @type {SavedComparison} */
    const saved = await answer.json();
    this.asked = [...Object.keys(saved.methods), ...Object.keys(saved.unavailable)];
    this.comparison.open(saved);
  }

  /** @param {string} message */
  receive(message) {
    return this.comparison.receive(message);
  }

  /**
   * The figures of a method in the latest report, or null.
   * @param {string} method
   */
  figures(method) {
    return this.comparison.report?.methods[method] ?? null;
  }

  /**
   * The details of a method besides its speed, or null; plain has none.
   * @param {string} method
   */
  details(method) {
    return this.comparison.report?.details?.[method] ?? null;
  }

  /**
   * The floor of a method's steps and how long they took, or null.
   * @param {string} method
   */
  floor(method) {
    const floor = this.comparison.report?.floor;
    if (method !== "plain") return floor?.methods[method] ?? null;
    return floor ? { ...floor, step_ms: floor.plain_step_ms } : null;
  }

  /**
   * Change which methods the table has rows for.
   * @param {string[]} methods
   */
  choose(methods) {
    if (this.comparison.run !== null) return; // a run keeps its rows
    this.chosen = methods;
    this.#notify("begun");
  }

  /**
   * Measure passes over several sequences, or ask which method knew the first prompt's reply first.
   * @param {"batches" | "overlap"} what
   */
  ask(what) {
    this.server.compare({ ...this.setupForm.asked(), aside: what });
  }

  /** @param {CompareRequest} request */
  compare(request) {
    this.asked = ["plain", ...request.methods.filter((name) => name !== "plain")];
    this.server.compare(request);
  }

  /**
   * Show what this run says of a method's losslessness; null: of every method's.
   * @param {string | null} method
   */
  showEvidence(method) {
    this.lit.method = method;
    this.#notify("lit");
    this.evidence.reveal();
  }

  /**
   * "status" concerns few views, and comes often; "lit" concerns the evidence alone.
   * @param {"begun" | "events" | "status" | "lit"} what
   */
  #notify(what) {
    if (what === "begun" && this.asked) {
      this.chosen = this.asked;
      this.asked = null;
    }
    this.element?.classList.toggle("is-empty", this.comparison.run === null);
    for (const view of this.views ?? []) {
      if (what === "lit" ? view.reveal : what !== "status" || view.live) view.update();
    }
  }
}

/**
 * Load the style sheets, then build the page inside an element.
 * @param {Element} element
 * @param {CompareSetup} setup
 * @param {CompareServer} server
 */
export async function mount(element, setup, server) {
  await loadStyles(STYLES.map((name) => new URL(name, import.meta.url).href));
  return new ComparePage(element, setup, server);
}
