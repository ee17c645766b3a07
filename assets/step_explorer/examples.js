// Examples are recorded runs: a chip opens one, says what to watch for, and fills the prompt.

import { button, h, replace } from "./dom.js";

/** @import { Explorer } from "./main.js" */

/** @param {Explorer} app */
export function examplesView(app) {
  const chips = h("div", { class: "sx-examples", role: "group", "aria-label": "Examples" });
  const draw = () => {
    const buttons = app.gallery.map(({ name, hint }) =>
      button(name, hint, () => app.choose(name), {
        "aria-pressed": String(name === app.recorded),
      }),
    );
    replace(chips, buttons.length ? h("span", {}, "Examples") : null, ...buttons);
  };
  app.store.subscribe((any) => any("gallery", "trace", "source") && draw());
  return chips;
}

/**
 * The prompt of the run on show, always: a picture or a file without it says little.
 * @param {Explorer} app
 */
export function promptView(app) {
  const prompt = h("q", { class: "sx-prompt", dir: "auto" });
  const hint = h("span", { class: "sx-prompt-hint" });
  const element = h("p", { class: "sx-asked" }, h("b", {}, "Prompt"), prompt, hint);
  app.store.subscribe((any) => {
    if (!any("trace", "grown", "source", "gallery")) return;
    const { header } = app.trace;
    element.classList.toggle("is-none", header === null);
    prompt.textContent = header?.prompt ?? "";
    prompt.title = prompt.textContent;
    const example = app.gallery.find(({ name }) => name === app.recorded);
    hint.textContent = app.notice || (example?.hint ?? "");
  });
  return element;
}
