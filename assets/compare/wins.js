// Which method was the fastest on each prompt, plain included: where the race's interval bears it.

import { card } from "../step_explorer/card.js";
import { h, replace } from "../step_explorer/dom.js";
import { plural, ratio } from "../step_explorer/numbers.js";
import { badge, code } from "./methods.js";

/**
 * @import { ComparePage } from "./main.js"
 * @import { Comparison } from "./model.js"
 */

/**
 * @typedef {object} Winner
 * @property {number} number
 * @property {string} id
 * @property {string} category
 * @property {string} method
 * @property {number} speedup
 */

/** @param {ComparePage} page */
export function winsView(page) {
  const { element, note } = card("wins", "Where each method wins", "");
  const body = h("div", {
    class: "cx-wins",
    tabindex: 0,
    role: "group",
    "aria-label": "The fastest method on each prompt",
  });
  const counts = h("p", { class: "cx-legend" });
  const why = h("p", { class: "cx-note" });
  element.append(counts, why, body);
  element.classList.add("cx-chart");

  function update() {
    const found = winners(page.comparison);
    note.textContent = found.length ? "single timings" : "appears with the first prompt";
    replace(counts, ...tally(found));
    const plain = found.filter(({ method }) => method === "plain").length;
    why.textContent = plain
      ? `On ${plain} of ${plural(found.length, "prompt")} no method was faster than plain decoding by more than its interval: they have plain decoding’s mark.`
      : "";
    replace(
      body,
      ...(found.length
        ? byCategory(found)
        : [
            h(
              "p",
              { class: "cx-empty" },
              "Each prompt gets the mark of its fastest method; plain decoding's, where none is faster by more than its interval.",
            ),
          ]),
    );
  }
  return { element, update };
}

/**
 * Per prompt the fastest method: plain, unless another was clearly faster than its own plain lane, by
 * more than the half-width of the race's 95 % interval.
 * @param {Pick<Comparison, "races">} comparison
 * @returns {Winner[]}
 */
export function winners(comparison) {
  /** @type {Map<number, Winner>} */
  const best = new Map();
  for (const race of comparison.races) {
    const last = best.get(race.number) ?? {
      number: race.number,
      id: race.id,
      category: race.category,
      method: "plain",
      speedup: 1,
    };
    const { method, speedup, clearly_faster: clear } = race;
    const faster = clear && speedup !== null && speedup > last.speedup;
    best.set(race.number, faster ? { ...last, method, speedup } : last);
  }
  return [...best.values()];
}

/** @param {Winner[]} found */
function tally(found) {
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const { method } of found) counts.set(method, (counts.get(method) ?? 0) + 1);
  return [...counts]
    .sort((a, b) => b[1] - a[1])
    .map(([method, n]) => h("span", {}, badge(method), `${method} ${n}`));
}

/** @param {Winner[]} found */
function byCategory(found) {
  return [...grouped(found)].map(([category, some]) =>
    h(
      "div",
      { class: "cx-win-row" },
      h("span", { class: "cx-category-name", title: category }, category || "(none)"),
      h("span", { class: "cx-cells" }, ...some.map(cell)),
    ),
  );
}

/** @param {Winner[]} found */
function grouped(found) {
  /** @type {Map<string, Winner[]>} */
  const groups = new Map();
  for (const winner of found)
    groups.set(winner.category, [...(groups.get(winner.category) ?? []), winner]);
  return groups;
}

/** @param {Winner} winner */
function cell({ id, method, speedup }) {
  const label =
    method === "plain"
      ? `${id}: plain decoding; no method was clearly faster`
      : `${id}: ${method}, ${ratio(speedup)}×`;
  return h(
    "span",
    { class: "cx-cell", title: label, role: "img", "aria-label": label },
    badge(method),
    code(method),
  );
}
