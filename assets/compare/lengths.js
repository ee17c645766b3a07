// How many tokens the steps of each method emitted: its accepted lengths, and the root.

import { card } from "../step_explorer/card.js";
import { h, replace } from "../step_explorer/dom.js";
import { percent, plural, ratio } from "../step_explorer/numbers.js";
import { badge } from "./methods.js";

/**
 * @import { ComparePage } from "./main.js"
 * @import { MethodDetails } from "../../types/records.js"
 */

const MOST = 5; // tokens a step that get a part of their own; longer ones share the last
const WIDE = 0.07; // a part's share from which its number fits in

/** @param {ComparePage} page */
export function lengthsView(page) {
  const { element, note } = card("lengths", "Accepted lengths", "");
  const body = h("div", { class: "cx-lengths" });
  element.append(body);
  element.classList.add("cx-chart");

  function update() {
    const measured = page.chosen.some((name) => total(page.details(name)) > 0);
    note.textContent = measured
      ? "steps by tokens gained, the root too"
      : "appears with the first prompt";
    replace(
      body,
      ...page.chosen
        .filter((name) => name !== "plain")
        .map((name) => row(name, page.details(name), page.comparison.report?.unavailable[name])),
    );
  }
  return { element, update };
}

/** @param {MethodDetails | null} details */
const total = (details) =>
  Object.values(details?.emitted_per_step ?? {}).reduce((sum, n) => sum + n, 0);

/**
 * @param {string} name
 * @param {MethodDetails | null} details
 * @param {string | undefined} reason
 */
function row(name, details, reason) {
  const steps = total(details);
  const heading = h("span", { class: "cx-name" }, badge(name), name);
  if (!details || !steps)
    return h(
      "div",
      { class: "cx-length" },
      heading,
      h("small", {}, reason ? "not run" : ""),
      h("div", { class: "cx-parts is-empty" }),
    );
  const counts = new Array(MOST).fill(0);
  let tokens = 0;
  for (const [gained, times] of Object.entries(details.emitted_per_step)) {
    counts[Math.min(Number(gained), MOST) - 1] += times;
    tokens += Number(gained) * times;
  }
  const shares = counts.map((times, i) => `${words(i)}: ${percent(times / steps)}`).join(", ");
  const parts = counts.map((times, i) => part(i, times / steps, times));
  return h(
    "div",
    { class: "cx-length" },
    heading,
    h("small", {}, `mean ${ratio(tokens / steps)} · ${plural(steps, "step")}`),
    h("div", { class: "cx-parts", role: "img", "aria-label": `${name}: ${shares}` }, ...parts),
  );
}

/**
 * @param {number} i
 * @param {number} share
 * @param {number} times
 */
function part(i, share, times) {
  if (!times) return null;
  const label = share < WIDE ? "" : `${i + 1}${i + 1 === MOST ? "+" : ""}`;
  return h(
    "i",
    {
      class: `is-${i + 1}`,
      style: `width:${100 * share}%`,
      title: `${words(i)}: ${percent(share)} of the steps`,
    },
    label,
  );
}

/** @param {number} i */
const words = (i) => (i + 1 === MOST ? `${MOST} tokens or more` : plural(i + 1, "token"));
