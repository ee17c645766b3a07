// The candidate tree of a step: what was guessed, how surely, and what became of it.

import { Marked, rowOf, s } from "./dom.js";
import { probability, shortProbability } from "./numbers.js";
import { Picture } from "./picture.js";
import { descendants, foldedRows, tidy } from "./tree_layout.js";
import { SIGNS } from "./verdicts.js";

/**
 * @import { Explorer } from "./main.js"
 * @import { Place } from "./tree_layout.js"
 * @import { View } from "./verdicts.js"
 */

const CHARACTER = 6.7; // pixels of a label's character
/** @typedef {ReturnType<typeof gridOf>} Grid */

const [MIN_LINE, MAX_LINE] = [15, 34];
const [MIN_COLUMN, MAX_COLUMN] = [72, 150];

/** @param {Explorer} app */
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
    "● accepted  ○ rejected  ◇ never reached  ■ root  □ bonus; larger: likelier to the base model",
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
    if (app.state.stage > 3) drawBonus(view, grid, edges, marks);
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
 * @param {Explorer} app
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
  const line = clamp((height - 6) / (lines + 1), MIN_LINE, MAX_LINE) * picture.zoom;
  const columns = Math.max(...view.shape.depths) + 2;
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
 * Draw a row's node and the edge to it; both are given back.
 * @param {Explorer} app
 * @param {View} view
 * @param {Grid} grid
 * @param {number} row
 * @param {SVGElement} edges
 * @param {SVGElement} marks
 * @returns {SVGElement[]}
 */
function drawNode(app, view, grid, row, edges, marks) {
  const { state } = app;
  const { step, shape } = view;
  const kind = state.stage > 3 || row === 0 ? step.verdicts[row] : "open";
  const { x, y } = grid.at(row);
  const base = state.stage > 2 ? step.base_probs[row] : 0.15;
  const group = s("g", {
    class: `sx-node is-${kind}`,
    role: "treeitem",
    "aria-level": shape.depths[row] + 1,
    "aria-label": spoken(view, row, kind),
    "aria-selected": "false",
    tabindex: -1,
    "data-row": row,
  });
  const radius = grid.unit * (2.6 + 4.2 * Math.sqrt(base)) * Math.min(1, grid.line / 14);
  group.append(
    s("rect", {
      class: "sx-hit",
      x: x - 9,
      y: y - grid.line / 2,
      width: grid.column,
      height: grid.line,
    }),
    s("circle", { class: "sx-ring", cx: x, cy: y, r: radius + 3.5 * grid.unit }),
    shapeOf(kind, x, y, radius),
  );
  const folded = grid.folded.has(row) ? ` ▸+${descendants(shape, row)}` : "";
  const leaf = folded || shape.children[row].length === 0;
  if (grid.line >= 9 * grid.unit || kind === "accepted") {
    group.append(
      s(
        "text",
        {
          class: "sx-token",
          x: x + radius + 4 * grid.unit,
          y: leaf || grid.line < 20 * grid.unit ? y + 3.8 * grid.unit : y - 5 * grid.unit,
        },
        view.label(row, grid.limit) + folded,
      ),
    );
  }
  marks.append(group);
  const edge = row > 0 ? drawEdge(view, grid, row, kind, radius) : null;
  if (edge) edges.append(edge);
  if (row > 0 && grid.line >= 22 * grid.unit) {
    group.append(
      s(
        "text",
        {
          class: "sx-draft",
          x: x - radius - 3 * grid.unit,
          y: y + 10.5 * grid.unit,
        },
        shortProbability(step.draft_probs[row]),
      ),
    );
  }
  return edge ? [group, edge] : [group];
}

/**
 * Along the parent's line, down beside the child, and to it.
 * @param {View} view
 * @param {Grid} grid
 * @param {number} row
 * @param {string} kind
 * @param {number} radius
 */
function drawEdge(view, grid, row, kind, radius) {
  const [from, to] = [grid.at(view.shape.parents[row]), grid.at(row)];
  const turn = to.x - 20 * grid.unit;
  const path =
    from.y === to.y
      ? `M${from.x} ${from.y}H${to.x - radius}`
      : `M${turn} ${from.y}V${to.y}H${to.x - radius}`;
  return s("path", { class: `sx-edge is-${kind}`, d: path });
}

/**
 * The base model's own next token, above the end of the accepted path.
 * @param {View} view
 * @param {Grid} grid
 * @param {SVGElement} edges
 * @param {SVGElement} marks
 */
function drawBonus(view, grid, edges, marks) {
  const { step, shape } = view;
  if (step.bonus === null) return;
  const end = step.accepted.at(-1) ?? 0;
  const from = grid.at(end);
  const to = grid.spot({ column: shape.depths[end] + 1, line: -1 });
  edges.append(
    s("path", {
      class: "sx-edge is-bonus",
      d: `M${from.x} ${from.y}H${to.x - 20 * grid.unit}V${to.y}H${to.x - 5 * grid.unit}`,
    }),
  );
  const label = view.token(step.bonus, grid.limit);
  marks.append(
    s(
      "g",
      {
        class: "sx-node is-bonus",
        role: "treeitem",
        "aria-level": shape.depths[end] + 2,
        "aria-label": `bonus token ${label}, the next step's root`,
      },
      shapeOf("bonus", to.x, to.y, 4.5 * grid.unit),
      s("text", { class: "sx-token", x: to.x + 9 * grid.unit, y: to.y + 3.8 * grid.unit }, label),
    ),
  );
}

/**
 * Shape tells the verdict as well as colour does.
 * @param {string} kind
 * @param {number} x
 * @param {number} y
 * @param {number} r
 */
function shapeOf(kind, x, y, r) {
  if (kind === "root" || kind === "bonus") {
    return s("rect", { class: "sx-mark", x: x - r, y: y - r, width: 2 * r, height: 2 * r });
  }
  if (kind === "pruned") {
    return s("path", {
      class: "sx-mark",
      d: `M${x - r} ${y}L${x} ${y - r}L${x + r} ${y}L${x} ${y + r}Z`,
    });
  }
  return s("circle", { class: "sx-mark", cx: x, cy: y, r });
}

/**
 * @param {View} view
 * @param {number} row
 * @param {string} kind
 */
function spoken(view, row, kind) {
  const told = kind in SIGNS ? `, ${view.meaning(row)}` : "";
  if (row === 0) return `${view.label(row)}, root`;
  const guess = probability(view.step.draft_probs[row]);
  const base = probability(view.step.base_probs[row]);
  return `${view.label(row)}${told}, guessed with ${guess}, base model ${base}`;
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
