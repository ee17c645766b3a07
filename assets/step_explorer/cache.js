// The KV cache: a step writes n rows, the accepted ones slide into place, the rest vanish.

import { Marked, rowOf, s } from "./dom.js";
import { count, plural } from "./numbers.js";
import { Picture } from "./picture.js";
import { LAST_STAGE } from "./store.js";
import { SIGNS } from "./verdicts.js";

/**
 * @import { Explorer } from "./main.js"
 * @import { View } from "./verdicts.js"
 */

/** @typedef {ReturnType<typeof gridOf>} Grid */

const [MIN_SLOT, MAX_SLOT] = [3, 64];
const LABELLED = 30;

/** @param {Explorer} app */
export function cacheView(app) {
  const lit = new Marked("is-line");
  /** @type {SVGElement[]} */
  let slots = []; // per row its slot
  const picture = new Picture("cache", "KV cache", "", draw, { zooms: false });

  function draw() {
    slots = [];
    const { view } = app;
    const { width, height } = picture.size;
    const svg = s("svg", {
      viewBox: `0 0 ${width} ${height}`,
      width,
      height,
      role: "img",
      "aria-label": view ? spoken(view) : "KV cache",
    });
    if (!view) return svg;
    svg.addEventListener("pointerover", ({ target }) => app.store.set({ hover: rowOf(target) }));
    svg.addEventListener("pointerleave", () => app.store.set({ hover: null }));
    svg.addEventListener("click", ({ target }) => {
      const row = rowOf(target);
      if (row !== null) app.select(row);
    });
    const grid = gridOf(view, width, height, app.unit);
    svg.append(prefix(grid, grid.above, "written", view), prefix(grid, grid.below, "kept", view));
    if (!wrote(view)) return svg;
    const kept =
      app.state.stage === LAST_STAGE ? view.step.accepted.slice(0, view.step.emitted.length) : [];
    kept.forEach((row, at) =>
      svg.append(
        s("path", {
          class: "sx-slide",
          d: `M${grid.x(row) + grid.slot / 2} ${grid.above + grid.tall}L${grid.x(at) + grid.slot / 2} ${grid.below}`,
        }),
      ),
    );
    if (app.state.stage > 2) {
      for (let row = 0; row < view.rows; row += 1)
        slots.push(slot(app, view, svg, grid, row, row, grid.above));
    }
    kept.forEach((row, at) => {
      const group = slot(app, view, svg, grid, row, at, grid.below);
      group.classList.add("sx-sliding");
      group.style.setProperty("--from", `${grid.x(row) - grid.x(at)}px`);
    });
    focus();
    return svg;
  }

  function focus() {
    lit.set(app.focusLine.flatMap((row) => slots[row] ?? []));
  }

  app.store.subscribe((any) => {
    if (any("trace", "step", "stage", "presenter")) {
      picture.redraw();
      const { view } = app;
      picture.note.textContent = view && app.state.stage === LAST_STAGE ? spoken(view) : "";
    } else if (any("row", "hover")) focus();
  });
  return picture.element;
}

/**
 * @param {View} view
 * @param {number} width
 * @param {number} height
 * @param {number} unit
 */
function gridOf(view, width, height, unit) {
  const left = 156 * unit;
  const tall = Math.min(20 * unit, (height - 12) / 2.6);
  const wide = Math.max(MIN_SLOT, Math.min(MAX_SLOT * unit, (width - left - 8) / view.rows));
  return {
    left,
    tall,
    slot: wide,
    unit,
    above: 3,
    below: height - tall - 3,
    x: (/** @type {number} */ at) => left + at * wide,
  };
}

/**
 * @param {Grid} grid
 * @param {number} y
 * @param {string} word
 * @param {View} view
 */
function prefix(grid, y, word, view) {
  const text = `so far ${count(view.step.context_length)}`;
  const [from, wide] = [58 * grid.unit, 94 * grid.unit];
  return s(
    "g",
    {},
    s("text", { class: "sx-quiet", x: 0, y: y + grid.tall / 2 + 4 }, word),
    s("rect", { class: "sx-cell is-prefix", x: from, y, width: wide, height: grid.tall }),
    s("text", { class: "sx-quiet", x: from + 6, y: y + grid.tall / 2 + 4 }, text),
  );
}

/**
 * @param {Explorer} app
 * @param {View} view
 * @param {SVGElement} svg
 * @param {Grid} grid
 * @param {number} row
 * @param {number} at
 * @param {number} y
 */
function slot(app, view, svg, grid, row, at, y) {
  const { state } = app;
  const kind = state.stage > 3 || row === 0 ? view.step.verdicts[row] : "open";
  const group = s(
    "g",
    { class: `sx-slot is-${kind}`, "data-row": row },
    s("rect", { x: grid.x(at), y, width: Math.max(1, grid.slot - 1.5), height: grid.tall }),
  );
  if (grid.slot >= LABELLED * grid.unit) {
    const limit = Math.floor((grid.slot - 8) / (6.4 * grid.unit));
    group.append(
      s(
        "text",
        { class: "sx-token", x: grid.x(at) + 4, y: y + grid.tall / 2 + 4 },
        view.label(row, Math.max(2, limit)),
      ),
    );
  } else if (grid.slot >= 12) {
    group.append(
      s(
        "text",
        { class: "sx-token", x: grid.x(at) + 2, y: y + grid.tall / 2 + 4 },
        SIGNS[view.step.verdicts[row]],
      ),
    );
  }
  svg.append(group);
  return group;
}

/**
 * The last token of a text needs no pass.
 * @param {View} view
 */
const wrote = ({ step }) => step.base_top.length > 0;

/** @param {View} view */
function spoken(view) {
  const { step } = view;
  const rows = view.rows + view.extraRows;
  const vanished = rows - step.emitted.length;
  if (!wrote(view)) return "no pass, nothing written";
  return `${plural(rows, "row")} written, ${count(step.emitted.length)} kept, ${count(vanished)} discarded`;
}
