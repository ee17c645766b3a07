// The coins of rejection sampling: what each guess that was tried had, and what became of it.

import { h } from "./dom.js";
import { probability } from "./numbers.js";
import { SIGNS } from "./verdicts.js";

/** @import { View } from "./verdicts.js" */

const HEADS = ["guess", "q", "p", "min(1, p/q)", "coin"];

/**
 * A line for each guess, in the order in which they were tried.
 * @param {View} view
 */
export function trialTable(view) {
  const lines = (view.step.trials ?? []).map(({ row, p, q, chance, coin }) => {
    const taken = coin < chance;
    return h(
      "tr",
      { class: taken ? "is-taken" : "is-refused", title: taken ? "taken" : "refused" },
      h(
        "th",
        { scope: "row" },
        `${taken ? SIGNS.accepted : SIGNS.rejected} ${view.label(row, 12)}`,
      ),
      ...[q, p, chance, coin].map((value) => h("td", {}, probability(value))),
    );
  });
  return h(
    "table",
    { class: "sx-trials" },
    h("thead", {}, h("tr", {}, ...HEADS.map((head) => h("th", { scope: "col" }, head)))),
    h("tbody", {}, ...lines),
  );
}
