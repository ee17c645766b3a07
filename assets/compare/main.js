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
import { setupView } from "./setup.js";
import { statusView } from "./status.js";
import { tableView } from "./table.js";
import { winsView } from "./wins.js";

const STYLES = [
  "../step_explorer/base.css",
  "../step_explorer/layout.css",
  "../step_explorer/narrow.css",
  "compare.css",
  "setup.css",
  "tables.css",
  "charts.css",
];

class ComparePage {
  /** `setup`: explorer.ui.compare_page.setup; `server`: { compare, cancel, missed }. */
  constructor(element, setup, server) {
    learn(setup.methods);
    this.setup = setup;
    this.server = server;
    this.comparison = new Comparison(server.missed, (what) => this.#tell(what));
    this.chosen = setup.methods.map(({ name }) => name); // methods that the table has rows for
    this.asked = null; // those of a comparison that the server has not begun yet
    this.lit = { method: null }; // whose evidence is shown
    this.views = [
      setupView,
      statusView,
      tableView,
      categoriesView,
      lengthsView,
      winsView,
      formulasView,
      batchView,
      evidenceView,
    ].map((view) => view(this));
    const [form, status, table, categories, lengths, wins, formulas, batch, evidence] = this.views;
    element.className = "sx cx";
    element.replaceChildren(
      form.element,
      status.element,
      table.element,
      h("div", { class: "cx-charts" }, categories.element, lengths.element, wins.element),
      formulas.element,
      batch.element,
      evidence.element,
    );
    this.#tell("begun");
  }

  receive(message) {
    return this.comparison.receive(message);
  }

  /** The figures of a method in the latest report, or null. */
  figures(method) {
    return this.comparison.report?.methods[method] ?? null;
  }

  /** What is told of a method beside its speed, or null; plain has none. */
  details(method) {
    return this.comparison.report?.details[method] ?? null;
  }

  /** The floor of a method's steps and how long they took, or null. */
  floor(method) {
    const floor = this.comparison.report?.floor;
    if (method !== "plain") return floor?.methods[method] ?? null;
    return floor ? { ...floor, step_ms: floor.plain_step_ms } : null;
  }

  /** Change which methods the table has rows for. */
  choose(methods) {
    if (this.comparison.run !== null) return; // a run keeps its rows
    this.chosen = methods;
    this.#tell("begun");
  }

  /** Measure passes over several sequences; τ rests on the prompts that are chosen. */
  measureBatches() {
    this.server.compare({ ...this.views[0].asked(), batches: true });
  }

  compare(request) {
    this.asked = ["plain", ...request.methods.filter((name) => name !== "plain")];
    this.server.compare(request);
  }

  /** Show what this run says of a method's losslessness. */
  showEvidence(method) {
    this.lit.method = method;
    this.#tell("lit");
    this.views.at(-1).reveal();
  }

  /** "status" concerns few views, and comes often; "lit" concerns the evidence alone. */
  #tell(what) {
    if (what === "begun" && this.asked) {
      this.chosen = this.asked;
      this.asked = null;
    }
    const concerned =
      { status: ({ live }) => live, lit: ({ reveal }) => reveal }[what] ?? (() => true);
    this.views?.filter(concerned).forEach((view) => view.update());
  }
}

/** Load the style sheets, then build the page inside an element. */
export async function mount(element, setup, server) {
  await loadStyles(STYLES.map((name) => new URL(name, import.meta.url).href));
  return new ComparePage(element, setup, server);
}
