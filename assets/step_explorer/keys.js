// The keyboard: everything that the pointer can do. Keys act unless something is being typed.

/** @import { Explorer } from "./main.js" */

export const KEYS = [
  ["← →", "previous, next step (in presenter mode: stage)"],
  ["Home End", "first, last step"],
  ["↑ ↓", "previous, next node"],
  ["space", "play or pause"],
  ["[ ]", "slower, faster"],
  ["l", "follow live"],
  ["t", "table of nodes"],
  ["m", "mask: boolean or 0/−∞"],
  ["w", "mask: real attention weights"],
  ["x", "mask: the text so far, token by token"],
  ["p", "presenter mode"],
  ["Esc", "leave presenter mode"],
];

const TYPED_IN = "input, textarea, select, [contenteditable=''], [contenteditable='true']";
const HARMLESS = "body, button, a, summary"; // outside the explorer: what needs no arrows or letters
const PRESSED = "button, a[href], summary, [role=button]"; // their own space key stays theirs

/**
 * @param {Explorer} app
 * @param {"additive" | "weights"} form
 */
const switchMask = (app, form) => app.store.set({ form: app.state.form === form ? "mask" : form });

/** @param {Explorer} app */
export function listenToKeys(app) {
  /** @type {Record<string, () => unknown>} */
  const actions = {
    ArrowLeft: () => app.move(-1),
    ArrowRight: () => app.move(1),
    Home: () => app.show(0),
    End: () => app.show(Infinity),
    ArrowUp: () => app.selectBeside(-1),
    ArrowDown: () => app.selectBeside(1),
    " ": () => app.playback.toggle(),
    "[": () => app.playback.shift(-1),
    "]": () => app.playback.shift(1),
    l: () => app.followLive(),
    t: () => app.store.set({ table: !app.state.table }),
    m: () => switchMask(app, "additive"),
    w: () => switchMask(app, "weights"),
    x: () => app.store.set({ prefixOpen: !app.state.prefixOpen }),
    p: () => app.present(!app.state.presenter),
    Escape: () => app.state.presenter && app.present(false),
  };
  document.addEventListener("keydown", (event) => {
    const { target } = event;
    if (!(target instanceof Element)) return;
    const elsewhere = !target.matches(HARMLESS) && !app.element.contains(target);
    if (elsewhere || event.ctrlKey || event.metaKey || event.altKey || !app.view) return;
    if (target.matches(TYPED_IN)) return;
    if (event.key === " " && target.matches(PRESSED)) return;
    const vertical = event.key === "ArrowUp" || event.key === "ArrowDown";
    if (vertical && target.closest(".sx-lane")) return; // the lane scrolls
    const action = actions[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });
}
