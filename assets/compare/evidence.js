// What this run found about losslessness: per prompt and method, whether the tokens are plain's.

import { card } from "../step_explorer/card.js";
import { button, h, replace } from "../step_explorer/dom.js";
import { plural, rate, ratio } from "../step_explorer/numbers.js";
import { readable } from "../step_explorer/text.js";
import { badge } from "./methods.js";

/**
 * @import { ComparePage } from "./main.js"
 * @import { PromptFigures } from "../../types/records.js"
 * @import { PromptRecord } from "../../types/page.js"
 */

const LONGEST = 110; // characters shown of a prompt
const [FIRST, EACH] = [220, 150]; // pixels, at least, of the prompt's column and of a method's
const AUDIT = "python -m explorer audit --prompts FILE.jsonl --method";

/** @param {ComparePage} page */
export function evidenceView(page) {
  const all = button("all methods", "Show every method", () => page.showEvidence(null));
  const { element, note } = card("evidence", "Evidence: the same tokens as plain?", "", all);
  const line = h("p", { class: "cx-note" });
  const head = h("tr", {});
  const body = h("tbody", {});
  const columns = h("colgroup", {});
  const table = h(
    "table",
    { class: "cx-table cx-evidence" },
    h(
      "caption",
      { class: "sx-unseen" },
      "Per prompt and method: whether the token ids equal plain's",
    ),
    columns,
    h("thead", {}, head),
    body,
  );
  const scroll = h(
    "div",
    {
      class: "cx-scroll cx-tall",
      tabindex: 0,
      role: "region",
      "aria-label": "Evidence, prompt by prompt",
    },
    table,
  );
  element.append(line, scroll);

  function shown() {
    const racing = page.chosen.filter(
      (name) => name !== "plain" && !page.comparison.report?.unavailable[name],
    );
    const lit = racing.find((name) => name === page.lit.method);
    return lit === undefined ? racing : [lit];
  }

  function update() {
    const { races, prompts, report } = page.comparison;
    const methods = shown();
    all.disabled = page.lit.method === null;
    note.textContent = races.length
      ? "token ids compared in this run"
      : "appears with the first prompt";
    line.textContent = report?.evidence[lone(methods) ?? ""] ?? "";
    replace(columns, h("col", { class: "cx-first" }), ...methods.map(() => h("col", {})));
    table.style.minWidth = `${FIRST + EACH * methods.length}px`;
    replace(
      head,
      h("th", { scope: "col" }, "prompt"),
      ...methods.map((name) =>
        h("th", { scope: "col" }, h("span", { class: "cx-name" }, badge(name), name)),
      ),
    );
    /** @type {Map<number, PromptFigures[]>} */
    const done = new Map();
    for (const race of races) done.set(race.number, [...(done.get(race.number) ?? []), race]);
    replace(
      body,
      ...[...done].map(([number, some]) =>
        row(
          prompts[number],
          methods.map((name) => some.find((race) => race.method === name)),
        ),
      ),
    );
  }

  function reveal() {
    element.scrollIntoView({ block: "nearest" });
    scroll.focus({ preventScroll: true });
  }
  return { element, update, reveal };
}

/**
 * @param {PromptRecord | undefined} record
 * @param {(PromptFigures | undefined)[]} races
 */
function row(record, races) {
  const prompt = readable(record?.prompt ?? "").replaceAll("\n", " ↵ ");
  const short = prompt.length > LONGEST ? `${prompt.slice(0, LONGEST - 1)}…` : prompt;
  return h(
    "tr",
    {},
    h(
      "th",
      { scope: "row", title: prompt.slice(0, 2000) },
      h("b", {}, record?.id ?? ""),
      h("span", { class: "cx-prompt" }, short),
    ),
    ...races.map((race) => (race ? verdict(race) : h("td", {}))),
  );
}

/**
 * The only one, if it is one.
 * @param {string[]} methods
 */
const lone = ([first, ...others]) => (others.length ? null : first);

/** @param {PromptFigures} race */
function verdict(race) {
  const [ours, theirs] = [race.tokens_per_second, race.plain_tokens_per_second].map(rate);
  const speeds = `${ours} against ${theirs} tokens/s, ${ratio(race.speedup)}×`;
  const { difference } = race;
  if (!difference) {
    const same = `all ${plural(race.tokens, "token")}`;
    return h("td", { class: "cx-same", title: `${same} are plain's; ${speeds}` }, `= ${same}`);
  }
  const { position, verdict: kind, explanation } = difference;
  const plain = named(difference.plain_text, difference.plain_token);
  const here = named(difference.method_text, difference.method_token);
  const differs = `≠ at token ${position}: ${plain} by plain, ${here} here`;
  return h(
    "td",
    { class: "cx-differs", title: speeds },
    differs,
    h("small", {}, explanation ?? `Not looked at here: ${AUDIT} ${race.method} says why.`),
    kind === "tie" ? h("small", {}, "A tie is no loss.") : null,
  );
}

/**
 * @param {string | null} text
 * @param {number | null} id
 */
const named = (text, id) => (id === null ? "(text ended)" : `‘${text ?? "?"}’ (${id})`);
