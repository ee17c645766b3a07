// The keyboard of Learn: arrows turn the pages, unless a widget or a field has them.

/** @import { Learn } from "./main.js" */

const OWN = "input, textarea, select, [contenteditable], [role=slider], .lx-widget *";

/** @param {Learn} page */
export function listenToKeys(page) {
  /** @type {Record<string, () => unknown>} */
  const actions = {
    ArrowLeft: () => page.move(-1),
    ArrowRight: () => page.move(1),
    p: () => page.present(!page.presenting),
    Escape: () => page.present(false),
  };
  document.addEventListener("keydown", (event) => {
    const { target } = event;
    if (event.ctrlKey || event.metaKey || event.altKey || !(target instanceof Element)) return;
    if (event.key !== "Escape" && target.matches(OWN)) return;
    const action = actions[event.key];
    if (!action || (event.key === "Escape" && !page.presenting)) return;
    event.preventDefault();
    action();
  });
}
