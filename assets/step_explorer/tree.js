// The candidate tree of a step: what was guessed, how surely, and what became of it.

import { Marked, rowOf, s } from "./dom.js";
import { Picture } from "./picture.js";
import { ACCEPT_STAGE } from "./store.js";
import { foldedRows, tidy } from "./tree_layout.js";
import { drawBonus, drawNode } from "./tree_nodes.js";

/**
 * @import { Looking } from "./looking.js"
 * @import { Place } from "./tree_layout.js"
 * @import { View } from "./verdicts.js"
 */

const CHARACTER = 6.7; // pixels of a label's character
/** @typedef {ReturnType<typeof gridOf>} Grid */

const [MIN_LINE, MAX_LINE] = [15, 34];
const [MIN_COLUMN, MAX_COLUMN] = [50, 150]; // as narrow as a phone needs it

/** @param {Looking} app */
export function treeView(app) {
  /** @type {Set<number>} */
  const opened = new Set();
  const [lit, focused] = [new Marked("is-line"), new Marked("is-focus")];
  /** @type {Map<number, SVGElement[]>} */
  let nodes = new Map(); // row → its elements
  /** @type {SVGElement | null} */
  let selected = null; // the node that the keyboard reaches
  const picture = new Picture(
    "tree",
    "Candidate tree",
    "● accepted  ○ rejected  ◇ never reached  ■ root: already known  □ bonus: the model's own next token; larger: likelier to the base model",
    draw,
  );
  picture.box.addEventListener("pointerleave", () => app.store.set({ hover: null }));

  function draw() {
    nodes = new Map();
    const { view } = app;
    if (!view) return s("svg", { viewBox: "0 0 10 10" });
    const grid = gridOf(app, picture, view, opened);
    const svg = s("svg", {
      viewBox: `0 0 ${grid.width} ${grid.height}`,
      width: grid.width,
      height: grid.height,
      role: "tree",
      "aria-label": `Candidate tree of step ${view.index + 1}: ${view.rows} rows`,
    });
    const [edges, marks] = [s("g"), s("g", { role: "presentation" })];
    svg.append(edges, marks);
    listen(svg);
    for (const row of [...grid.place.keys()].sort((a, b) => a - b)) {
      if (row > 0 && app.state.stage === 0) continue;
      nodes.set(row, drawNode(app, view, grid, row, edges, marks));
    }
    if (app.state.stage >= ACCEPT_STAGE) drawBonus(view, grid, edges, marks);
    focus();
    return svg;
  }

  /** @param {SVGElement} svg */
  function listen(svg) {
    svg.addEventListener("pointerover", ({ target }) => {
      const row = rowOf(target);
      if (row !== null) app.store.set({ hover: row });
    });
    svg.addEventListener("click", ({ target }) => {
      const row = rowOf(target);
      if (row === null) return;
      app.select(row);
      toggle(row);
    });
  }

  /** @param {number} row */
  function toggle(row) {
    const { view } = app;
    if (!view || !foldedRows(view.step, view.shape, new Set()).has(row)) return;
    if (!opened.delete(row)) opened.add(row);
    picture.redraw();
  }

  function focus() {
    const drawn = (/** @type {number[]} */ rows) => rows.flatMap((row) => nodes.get(row) ?? []);
    lit.set(drawn(app.focusLine));
    focused.set(drawn([app.focusRow]));
    const group = nodes.get(app.row)?.[0] ?? null;
    if (group === selected) return;
    reach(selected, false);
    reach(group, true);
    selected = group;
  }

  app.store.subscribe((any) => {
    if (any("trace", "step")) opened.clear();
    if (any("trace", "step", "stage", "presenter")) picture.redraw();
    else if (any("row", "hover")) focus();
    const shown = app.state.row ?? app.view?.step.accepted.at(-1) ?? 0;
    if (any("row", "step")) app.store.afterwards(() => showRow(picture.box, nodes.get(shown)?.[0]));
  });
  picture.element.insertBefore(picture.note, picture.box);
  return picture.element;
}

/**
 * @param {SVGElement | null} group
 * @param {boolean} on
 */
function reach(group, on) {
  group?.setAttribute("aria-selected", String(on));
  group?.setAttribute("tabindex", on ? "0" : "-1");
}

/**
 * Sizes of the picture, in pixels. Line 0 is kept for the bonus token.
 * @param {Looking} app
 * @param {Picture} picture
 * @param {View} view
 * @param {Set<number>} opened
 */
function gridOf(app, picture, view, opened) {
  const { width, height } = picture.size;
  const { unit } = app;
  const folded = foldedRows(view.step, view.shape, opened);
  const { place, lines } = tidy(view.shape, folded);
  /** @type {(value: number, least: number, most: number) => number} */
  const clamp = (value, least, most) => Math.max(least * unit, Math.min(most * unit, value));
  const tallest = app.state.presenter ? 2 * MAX_LINE : MAX_LINE;
  const line = clamp((height - 6) / (lines + 1), MIN_LINE, tallest) * picture.zoom;
  const deepest = app.state.stage === 0 ? 0 : Math.max(...view.shape.depths);
  const columns = deepest + 2;
  const margin = 12 * unit;
  const column =
    clamp((width - margin) / columns, MIN_COLUMN, MAX_COLUMN) * Math.max(1, picture.zoom);
  const limit = Math.max(3, Math.floor((column - 26 * unit) / (CHARACTER * unit)));
  /** @type {(place: Place) => { x: number, y: number }} */
  const spot = ({ column: x, line: y }) => ({ x: margin + x * column, y: (y + 1.6) * line });
  return {
    place,
    folded,
    line,
    column,
    limit,
    spot,
    at: (/** @type {number} */ row) => spot(place.get(row) ?? { column: 0, line: 0 }),
    unit,
    width: Math.max(margin + columns * column, width),
    height: Math.max((lines + 1.2) * line, 20),
  };
}

/**
 * Bring a node into sight by scrolling its box only, never the page.
 * @param {Element} box
 * @param {Element | undefined} group
 */
function showRow(box, group) {
  if (!group || box.scrollHeight <= box.clientHeight) return;
  const [outer, inner] = [box.getBoundingClientRect(), group.getBoundingClientRect()];
  if (inner.top < outer.top) box.scrollTop -= outer.top - inner.top + 10;
  else if (inner.bottom > outer.bottom) box.scrollTop += inner.bottom - outer.bottom + 10;
}
