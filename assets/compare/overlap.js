// Who knew it first: which methods would have drafted each token of one reply, and how far ahead.

import { card } from "../step_explorer/card.js";
import { button, download, h, replace } from "../step_explorer/dom.js";
import { NONE, percent, plural, ratio } from "../step_explorer/numbers.js";
import { badge, code, colour } from "./methods.js";
import { going } from "./model.js";

/**
 * @import { ComparePage } from "./main.js"
 * @import { KnownToken, WhoKnew } from "../../types/records.js"
 */

const HINT =
  "The greedy text is the same for all methods. Of the first prompt's reply: which method would have drafted each token, and how many tokens ahead?";
const FILE = "medusa-explorer-overlap.json";

/** @param {ComparePage} page */
export function overlapView(page) {
  const start = button(
    "Ask the methods",
    "Write the reply to the first prompt, and ask every chosen method at every token",
    () => page.ask("overlap"),
  );
  const save = button("JSON", "Save what was found as a file", () => {
    const found = JSON.stringify(page.comparison.overlap.report, null, 2);
    download(FILE, new Blob([found], { type: "application/json" }));
  });
  const { element, note } = card("overlap", "Who knew it first", "", start, save);
  const line = h("p", { class: "cx-note" });
  const reply = h("p", { class: "cx-known", dir: "auto" });
  const table = h("div", {
    class: "cx-scroll",
    tabindex: 0,
    role: "region",
    "aria-label": "Table of what each method drafted",
  });
  element.append(line, reply, table);

  function update() {
    const { overlap, live, engine } = page.comparison;
    const { report, phase } = overlap;
    start.disabled = live || engine.phase === "failed";
    save.disabled = report === null;
    note.textContent = report ? plural(report.tokens.length, "token") : "one reply, token by token";
    line.textContent = sentence(phase, overlap.text, report);
    replace(reply, ...(report?.tokens.map(token) ?? []));
    replace(table, report && rows(report));
  }

  /** @type {(phase: string, said: string, report: WhoKnew | null) => string} */
  function sentence(phase, said, report) {
    if (phase === "failed" || phase === "stopped") return said;
    if (going(page.comparison.overlap)) return `${said} …`;
    return report ? [report.sentence, ...report.notes].join(" ") : HINT;
  }
  return { element, update, live: true };
}

/**
 * A token, marked with the method that drafted it farthest ahead.
 * @param {KnownToken} known
 */
function token({ text, ahead }) {
  const drafted = Object.entries(ahead).filter(([, lead]) => lead > 0);
  const leads = drafted.map(([name, lead]) => `${name} ${lead} ahead`).join(", ");
  const [first, farthest] = drafted.reduce((a, b) => (b[1] > a[1] ? b : a), ["", 0]);
  return h(
    "span",
    { class: farthest ? "cx-token" : "cx-token is-new", title: leads || "nobody drafted it" },
    h("bdi", {}, text),
    farthest
      ? h("sub", { style: `border-color: ${colour(first)}` }, `${code(first)}${farthest}`)
      : null,
  );
}

/** @param {WhoKnew} report */
function rows({ methods, overlap }) {
  const names = Object.keys(methods);
  /** @type {(a: string, b: string) => number | null} */
  const both = (a, b) => overlap[`${a} & ${b}`] ?? overlap[`${b} & ${a}`] ?? null;
  /** @type {(text: string, title: string) => Element} */
  const head = (text, title) => h("th", { scope: "col", title }, text);
  return h(
    "table",
    { class: "cx-table cx-overlap-table" },
    h("caption", { class: "sx-unseen" }, "What each method would have drafted"),
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        head("method", "A method that drafts"),
        head("drafted", "Share of the tokens that it would have drafted"),
        head("it alone", "Share that no other method would have drafted"),
        head("farthest", "The most tokens ahead that it was right"),
        head("tokens/step", "Of a run through this reply with this method alone"),
        ...names.map((name) => head(`and ${code(name)}`, `Share that ${name} drafted, too`)),
      ),
    ),
    h(
      "tbody",
      {},
      ...names.map((name) => {
        const { known, alone, farthest, tokens_per_step: tau } = methods[name];
        return h(
          "tr",
          {},
          h("th", { scope: "row" }, h("span", { class: "cx-name" }, badge(name), name)),
          ...[percent(known), percent(alone), String(farthest), tau ? ratio(tau) : NONE].map(cell),
          ...names.map((other) => cell(other === name ? "" : percent(both(name, other)))),
        );
      }),
    ),
  );
}

/** @param {string} text */
const cell = (text) => h("td", { class: "is-number" }, text);
