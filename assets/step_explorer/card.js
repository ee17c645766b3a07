// A card: a title, a quiet hint, room for tools at its right, and a way to save it as a picture.

import { h } from "./dom.js";
import { saving } from "./export.js";

export function card(name, title, hint, ...tools) {
  const note = h("p", { class: "sx-hint" }, hint);
  const head = h("div", { class: "sx-card-head" }, h("h2", {}, title), note);
  const element = h("section", { class: `sx-card sx-${name}`, "aria-label": title }, head);
  head.append(h("div", { class: "sx-tools" }, ...tools, saving(element, name, title)));
  return { element, note };
}
