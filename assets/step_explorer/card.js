// A card: a title, a quiet hint, room for tools at its right, and a way to save it as a picture.

import { h } from "./dom.js";
import { saving } from "./export.js";
import { explained } from "./term.js";

/** @import { Child } from "./dom.js" */

/**
 * @param {string} name
 * @param {string} title
 * @param {string} hint
 * @param {Child[]} tools
 */
export function card(name, title, hint, ...tools) {
  const note = h("p", { class: "sx-hint" }, hint);
  const heading = h("h2", {}, explained(title));
  const head = h("div", { class: "sx-card-head" }, heading, note);
  const element = h("section", { class: `sx-card sx-${name}`, "aria-label": title }, head);
  const toolbar = h("div", { class: "sx-tools" }, ...tools, saving(element, name, title));
  head.append(toolbar);
  return { element, title: heading, note, tools: toolbar };
}
