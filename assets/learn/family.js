// The family: a picture and a line of each method, and the table of what is claimed and measured.

import { schematic } from "./schematic.js";

/**
 * @import { Tools } from "./kit.js"
 * @import { Guesses } from "./schematic.js"
 * @typedef {Record<string, string[]>} Cells by the table's rows
 * @typedef {{ key: string, name: string, line: string, guesses: Guesses, published: Cells,
 *   measured: Cells, cited: { name: string, title: string, url: string }[] }} Member
 * @typedef {{ rows: [key: string, name: string][], members: Member[], machine: string,
 *   question: Parameters<Tools["question"]>[0] }} Data
 */

/** @param {HTMLElement} place @param {Data} data @param {Tools} tools */
export function mount(place, data, tools) {
  const { h, choice } = tools;
  const shown = h("div", { "aria-live": "polite" });
  const show = (/** @type {string} */ key) => {
    const member = data.members.find((one) => one.key === key) ?? data.members[0];
    shown.replaceChildren(card(member, data, tools));
  };
  const first = "medusa";
  const members = choice(
    "Method",
    data.members.map(({ key, name }) => [key, name]),
    first,
    show,
  );
  place.append(
    h("div", { class: "lx-card" }, members.element, shown),
    h(
      "details",
      { class: "lx-card" },
      h("summary", {}, "All of them in one table"),
      h(
        "div",
        { class: "lx-scroll", tabindex: 0, role: "region", "aria-label": "All methods" },
        whole(data, tools),
      ),
      measuredOn(data, tools),
    ),
    tools.question(data.question),
  );
  show(first);
}

/**
 * @param {Member} member
 * @param {Data} data
 * @param {Tools} tools
 */
function card(member, data, tools) {
  const { h } = tools;
  const known = Object.keys(member.measured).length > 0;
  return h(
    "div",
    { class: "lx-kin" },
    schematic(member.guesses, member.name),
    h("p", {}, h("b", {}, member.name), `: ${member.line}`),
    h(
      "table",
      { class: "lx-nodes" },
      h(
        "tr",
        {},
        h("td", {}),
        h("th", { scope: "col" }, "published"),
        known ? h("th", { scope: "col" }, "measured here") : null,
      ),
      ...data.rows.map(([key, name]) =>
        h(
          "tr",
          {},
          h("th", { scope: "row" }, name),
          h("td", {}, ...lines(member.published[key], h)),
          known ? h("td", {}, ...lines(member.measured[key] ?? ["–"], h)) : null,
        ),
      ),
    ),
    known
      ? measuredOn(data, tools)
      : h("p", { class: "lx-note" }, "This product does not have it, so nothing was measured."),
    sources(member, h),
  );
}

/**
 * @param {string[]} said
 * @param {Tools["h"]} h
 */
const lines = (said, h) => said.map((one) => h("span", {}, one));

/** @param {Data} data @param {Tools} tools */
const measuredOn = ({ machine }, { h }) => h("p", { class: "lx-note" }, `Measured: ${machine}.`);

/**
 * @param {Member} member
 * @param {Tools["h"]} h
 */
function sources({ cited }, h) {
  if (!cited.length) return null;
  return h(
    "p",
    { class: "lx-note" },
    "Sources: ",
    ...cited.flatMap(({ name, title, url }, i) => [
      i ? "; " : "",
      h("a", { href: url, title }, name),
    ]),
    ". “Tutorials”: the comparison that many introductions print.",
  );
}

/**
 * @param {Data} data
 * @param {Tools} tools
 */
function whole({ rows, members }, { h }) {
  return h(
    "table",
    { class: "lx-nodes lx-whole" },
    h("tr", {}, h("td", {}), ...rows.map(([, name]) => h("th", { scope: "col" }, name))),
    ...members.map((member) =>
      h(
        "tr",
        {},
        h("th", { scope: "row" }, member.name),
        ...rows.map(([key, name]) =>
          h(
            "td",
            { "data-row": name },
            ...lines(member.published[key], h),
            ...(member.measured[key] ?? []).map((one) => h("b", {}, `measured: ${one}`)),
          ),
        ),
      ),
    ),
  );
}
