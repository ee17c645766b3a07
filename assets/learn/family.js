// The family: a picture and a line of each method, and the table of what is claimed and measured.

import { schematic } from "./schematic.js";

/**
 * @import { Tools } from "./kit.js"
 * @import { Guesses } from "./schematic.js"
 * @typedef {Record<string, string> & { key: string, name: string, line: string }} Words
 * @typedef {Words & { guesses: Guesses, cited: { name: string, title: string, url: string }[],
 *   measured: Record<string, string> }} Member
 * @typedef {{ rows: [key: string, name: string][], members: Member[],
 *   question: Parameters<Tools["question"]>[0] }} Data
 */

/** @param {HTMLElement} place @param {Data} data @param {Tools} tools */
export function mount(place, data, tools) {
  const { h, choice } = tools;
  const shown = h("div", { "aria-live": "polite" });
  const show = (/** @type {string} */ key) => {
    const member = data.members.find((one) => one.key === key) ?? data.members[0];
    shown.replaceChildren(card(member, data.rows, tools));
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
      h("div", { class: "lx-scroll", tabindex: 0 }, whole(data, tools)),
    ),
    tools.question(data.question),
  );
  show(first);
}

/**
 * @param {Member} member
 * @param {Data["rows"]} rows
 * @param {Tools} tools
 */
function card(member, rows, { h }) {
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
        h("th", {}, ""),
        h("th", { scope: "col" }, "published"),
        h("th", { scope: "col" }, "measured here"),
      ),
      ...rows.map(([key, name]) =>
        h(
          "tr",
          {},
          h("th", { scope: "row" }, name),
          h("td", {}, member[key]),
          h("td", {}, member.measured[key] ?? "–"),
        ),
      ),
    ),
    sources(member, h),
  );
}

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
    h("tr", {}, h("th", {}, ""), ...rows.map(([, name]) => h("th", { scope: "col" }, name))),
    ...members.map((member) =>
      h(
        "tr",
        {},
        h("th", { scope: "row" }, member.name),
        ...rows.map(([key]) =>
          h(
            "td",
            {},
            h("span", {}, member[key]),
            member.measured[key] ? h("b", {}, `measured: ${member.measured[key]}`) : null,
          ),
        ),
      ),
    ),
  );
}
