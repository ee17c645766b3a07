// The whole run: acceptance by depth and by rank, accepted lengths, rows verified in vain.

import { card } from "./card.js";
import { h, replace } from "./dom.js";
import { count, percent, plural } from "./numbers.js";
import { acceptanceByDepth, acceptanceByRank, lengthCounts, vainRows } from "./stats.js";

/**
 * @import { Explorer } from "./main.js"
 * @import { Trace } from "./trace.js"
 */

const MAX_BARS = 8;

/** @param {Explorer} app */
export function summaryView(app) {
  const { element } = card("summary", "The whole run", "measured over every step so far");
  const body = element.appendChild(h("div", { class: "sx-summary-body" }));
  const draw = () => replace(body, ...charts(app.trace));
  app.store.subscribe((any) => any("trace", "grown") && draw());
  return element;
}

/** @param {Trace} trace */
function charts(trace) {
  if (trace.steps.length === 0) return [h("p", { class: "sx-soft" }, "No steps yet.")];
  const depths = acceptanceByDepth(trace);
  const ranks = acceptanceByRank(trace);
  const lengths = lengthCounts(trace);
  const vain = vainRows(trace);
  const most = Math.max(...lengths);
  return [
    chart(
      "Acceptance by depth",
      "of the steps that reached it",
      depths.map((d, i) => [
        `depth ${i + 1}`,
        d.rate,
        `${percent(d.rate)} of ${count(d.accepted + d.rejected)}`,
      ]),
    ),
    chart(
      "Acceptance by position",
      "of all steps with a pass",
      depths.map((d, i) => [`depth ${i + 1}`, d.share, `${percent(d.share)}`]),
    ),
    chart(
      "Acceptance by rank",
      "of the nodes that were judged",
      ranks.map((r, i) => [`guess ${i + 1}`, r.rate, `${percent(r.rate)} of ${count(r.judged)}`]),
    ),
    chart(
      "Tokens per step",
      "how many steps gained that many",
      lengths.map((n, i) => [plural(i + 1, "token"), n / most, plural(n, "step")]),
    ),
    h(
      "div",
      { class: "sx-chart" },
      h("h3", {}, "Wasted checks"),
      h("p", { class: "sx-figure" }, percent(vain.share)),
      h("p", {}, `${count(vain.vain)} of ${plural(vain.rows, "row")} gave no token.`),
    ),
  ];
}

/**
 * @param {string} title
 * @param {string} hint
 * @param {[name: string, share: number | null, text: string][]} bars
 */
function chart(title, hint, bars) {
  const shown = bars.filter(([, share]) => share !== null).slice(0, MAX_BARS);
  return h(
    "div",
    { class: "sx-chart" },
    h("h3", {}, title),
    h("p", { class: "sx-hint" }, hint),
    ...shown.map(([name, share, text]) =>
      h(
        "div",
        { class: "sx-chart-row" },
        h("span", {}, name),
        h("div", {}, h("i", { style: `width:${100 * (share ?? 0)}%` })),
        h("b", {}, text),
      ),
    ),
  );
}
