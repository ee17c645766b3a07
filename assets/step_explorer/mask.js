// The tree-attention mask as a heatmap: which rows of the verify pass each row may see, and how much
// of its attention it gives to them.

import { button, replace, s } from "./dom.js";
import { maskCells, weightCells } from "./mask_cells.js";
import { maskForms } from "./mask_forms.js";
import { gridOf, LABEL, placeAt, prefixColumns } from "./mask_grid.js";
import { seenBy, spoken, treeRows, weightInWords } from "./mask_words.js";
import { count } from "./numbers.js";
import { Picture } from "./picture.js";
import { SIGNS } from "./verdicts.js";

/**
 * @import { Explorer } from "./main.js"
 * @import { Column, Grid, Place } from "./mask_grid.js"
 * @import { View } from "./verdicts.js"
 * @import { AttentionHead } from "../../types/records.js"
 */

/**
 * @typedef {object} Parts
 * @property {View} view
 * @property {Grid} grid
 * @property {AttentionHead | null} head
 * @property {SVGElement[]} bands
 * @property {SVGElement} mark
 * @property {SVGElement} label
 * @property {SVGElement} names
 * @property {SVGElement[]} rows
 */

/** @param {Explorer} app */
export function maskView(app) {
  /** @type {Parts | null} */
  let parts = null; // of the picture on view
  /** @type {Place | null} */
  let pointed = null; // the place under the pointer
  let scrolled = 0; // pixels to the right
  const prefix = button("text so far", "Show the text so far token by token (x)", () =>
    app.store.set({ prefixOpen: !app.state.prefixOpen }),
  );
  const picture = new Picture("mask", "Tree-attention mask", "", draw, { tools: [prefix] });

  function draw() {
    const { view } = app;
    [parts, pointed] = [null, null];
    if (!view) {
      picture.note.textContent = ""; // what it says is of another run
      return s("svg", { viewBox: "0 0 10 10" });
    }
    const weighs = app.state.form === "weights";
    const shown = weighs ? app.attention.shown : null;
    const head = shown ?? (weighs ? app.attention.backdrop : null);
    const grid = gridOf(app, picture, view, prefixColumns(app, view, head));
    const svg = s("svg", {
      viewBox: `0 0 ${grid.width} ${grid.height}`,
      width: grid.width,
      height: grid.height,
      role: "img",
      "aria-label": spoken(view, shown),
      class: weighs && !shown ? "is-waiting" : null,
    });
    const band = s("rect", {
      class: "sx-band",
      x: 0,
      width: grid.width,
      height: grid.cell,
      y: -99,
    });
    const mark = s("rect", { class: "sx-pointed", width: grid.size, height: grid.size, y: -99 });
    const label = s("text", { class: "sx-token sx-float", x: grid.left - 6, y: -99 });
    const cells = weighs ? weightCells(grid, view, head) : maskCells(app, grid, view);
    const width = grid.left - 2;
    const strip = s("rect", { class: "sx-band", width, height: grid.cell });
    const names = s("g", { class: "sx-names" }, s("rect", { width, height: grid.height }), strip);
    svg.append(band, ground(grid, view), cells, columnHeads(grid, view), mark, names);
    const rows = grid.labelled ? rowLabels(app, grid, view, names) : [];
    names.append(label);
    svg.addEventListener("pointermove", (event) => {
      const box = svg.getBoundingClientRect();
      const scale = grid.width / box.width;
      point(
        placeAt(grid, view, (event.clientX - box.left) * scale, (event.clientY - box.top) * scale),
      );
    });
    svg.addEventListener("click", () => {
      if (app.state.hover !== null) app.select(app.state.hover);
    });
    svg.addEventListener("pointerleave", () => point(null));
    parts = { view, grid, head: shown, bands: [band, strip], mark, label, names, rows };
    focus();
    keepNames();
    return svg;
  }

  /** Whose row is whose stays in sight when the picture scrolls. */
  function keepNames() {
    if (!parts) return;
    parts.names.setAttribute("transform", `translate(${scrolled} 0)`);
    parts.names.classList.toggle("is-over", scrolled > 0);
  }

  /** @param {Place | null} place */
  function point(place) {
    pointed = place;
    app.store.set({ hover: place?.row ?? null });
    focus();
  }

  function focus() {
    if (!parts) return;
    const { focusRow: row } = app;
    const { view, grid } = parts;
    for (const band of parts.bands) band.setAttribute("y", String(grid.y(row)));
    const line = new Set(app.focusLine);
    parts.rows.forEach((text, i) => void text.classList.toggle("is-line", line.has(i)));
    if (!grid.labelled) {
      parts.label.textContent = `${signOf(app, view, row)} ${view.label(row, LABEL)}`;
      parts.label.setAttribute("y", String(Math.max(12, grid.y(row) + grid.cell / 2 + 4)));
    }
    const place = pointed?.row === row ? pointed : null;
    markPlace(parts, place);
    highlight(parts, row, place);
  }

  /**
   * @param {Parts} shown
   * @param {number} row
   * @param {Place | null} place
   */
  function highlight({ view, grid, head }, row, place) {
    if (app.state.form === "weights" && !head) return showReason(picture.note, app);
    const words = head ? weightInWords(grid, view, head, row, place) : seenBy(view, row);
    replace(picture.note, words);
    picture.note.title = words;
    return undefined;
  }

  app.store.subscribe((any) => {
    if (
      any("trace", "step", "stage", "presenter", "form", "layer", "head", "attention", "prefixOpen")
    ) {
      prefix.setAttribute("aria-pressed", String(app.state.prefixOpen));
      picture.element.classList.toggle("is-weights", app.state.form === "weights");
      picture.redraw();
      if (any("prefixOpen")) app.store.afterwards(() => picture.box.scrollTo({ left: 1e4 }));
    } else if (any("row", "hover")) focus();
    picture.element.classList.toggle("is-hidden", app.state.stage < 2);
  });
  picture.box.addEventListener("scroll", () => {
    scrolled = picture.box.scrollLeft;
    keepNames();
  });
  picture.element.insertBefore(maskForms(app), picture.box);
  picture.element.insertBefore(picture.note, picture.box);
  return picture.element;
}

/**
 * Frame the cell under the pointer, where it has a weight.
 * @param {Parts} parts
 * @param {Place | null} place
 */
function markPlace({ grid, mark, head }, place) {
  const x = xOf(grid, place);
  const here = head && place && x !== null;
  mark.setAttribute("y", String(here ? grid.y(place.row) : -99));
  if (here) mark.setAttribute("x", String(x));
}

/** @type {(grid: Grid, place: Place | null) => number | null} */
const xOf = (grid, place) => {
  if (place?.i !== undefined) return grid.prefixX(place.i);
  return place?.seen === undefined ? null : grid.x(place.seen);
};

/**
 * Why there are no weights, and what to do: try again, or go to a step that carries some.
 * @param {HTMLElement} note
 * @param {Explorer} app
 */
function showReason(note, app) {
  const { reason, retry } = app.attention;
  const steps = [...new Set(app.trace.attention.map((head) => head.step))]
    .sort((a, b) => a - b)
    .slice(0, 3);
  const ways = app.attention.able
    ? []
    : steps.map((step) =>
        button(`step ${step + 1}`, `Go to step ${step + 1}, which carries attention weights`, () =>
          app.show(step),
        ),
      );
  if (retry)
    ways.push(button("try again", "Compute the weights again", () => app.attention.again()));
  replace(note, reason ?? "", ...ways);
  note.title = reason ?? "";
}

/**
 * @param {Grid} grid
 * @param {View} view
 */
function ground(grid, view) {
  const size = view.rows * grid.cell;
  return s("rect", { class: "sx-grid", x: grid.x(0), y: grid.top, width: size, height: size });
}

/**
 * What the columns are: the prefix, then the rows themselves.
 * @param {Grid} grid
 * @param {View} view
 */
function columnHeads(grid, view) {
  const group = s("g", {});
  /** @type {(text: string, column: number, mark?: string) => void} */
  const name = (text, column, mark = "") => {
    const [x, y] = [column + grid.cell / 2 + 3.5 * grid.unit, grid.top - 5];
    group.append(
      s(
        "text",
        { class: `sx-token sx-head ${mark}`, x, y, transform: `rotate(-90 ${x} ${y})` },
        text,
      ),
    );
  };
  if (!grid.named) {
    group.append(
      s(
        "text",
        { class: "sx-quiet", x: grid.left, y: grid.top - 5 },
        `text so far ${count(view.step.context_length)} · ${treeRows(view)}`,
      ),
    );
    return group;
  }
  grid.columns.forEach((column, i) =>
    name(headOf(view, column, grid.columns), grid.prefixX(i), "is-prefix"),
  );
  for (let row = 0; row < view.rows; row += 1) name(view.label(row, LABEL), grid.x(row));
  return group;
}

/**
 * @param {View} view
 * @param {Column} column
 * @param {Column[]} all
 */
function headOf(view, column, all) {
  if (column.kind !== "sum") return view.token(column.id, LABEL);
  return all.length === 1 ? "so far" : `+${count(column.tokens)}`;
}

/**
 * The verdict's sign, once it is revealed.
 * @param {Explorer} app
 * @param {View} view
 * @param {number} row
 */
const signOf = (app, view, row) => (app.state.stage > 3 ? SIGNS[view.step.verdicts[row]] : "·");

/**
 * @param {Explorer} app
 * @param {Grid} grid
 * @param {View} view
 * @param {SVGElement} names
 */
function rowLabels(app, grid, view, names) {
  if (grid.named)
    names.append(
      s("text", { class: "sx-quiet sx-end", x: grid.left - 6, y: grid.top - 6 }, "position"),
    );
  return Array.from({ length: view.rows }, (_, row) => {
    const y = grid.y(row) + grid.cell / 2 + 3.5 * grid.unit;
    const label = s(
      "text",
      { class: "sx-token sx-end", x: grid.left - grid.numbers, y },
      `${view.label(row, LABEL)} ${signOf(app, view, row)}`,
    );
    const position = view.step.context_length + view.shape.depths[row];
    names.append(
      label,
      s("text", { class: "sx-quiet sx-end", x: grid.left - 6, y }, count(position)),
    );
    return label;
  });
}
