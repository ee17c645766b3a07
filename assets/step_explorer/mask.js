// The tree-attention mask as a heatmap: which rows of the verify pass each row may see.

import { button, s } from "./dom.js";
import { count } from "./numbers.js";
import { Picture } from "./picture.js";
import { SIGNS } from "./verdicts.js";

const LABEL = 9; // characters of a token's label
const CHARACTER = 6.2;
const [LEAST_CELL, MOST_CELL] = [3, 30];
const LABELLED = 10; // cells this large have room for labels
const NUMBERED = 15; // and for 0 and −∞
const PREFIX_SHOWN = 24; // tokens of the expanded prefix

export function maskView(app) {
  let grid = null;
  let parts = null;
  const form = button("0/−∞", "0/−∞: the mask in its additive form, 0 where a row may look and −∞ elsewhere (m)",
    () => app.store.set({ additive: !app.state.additive }));
  const prefix = button("prefix", "Expand the prefix: its last tokens one by one (x)",
    () => app.store.set({ prefixOpen: !app.state.prefixOpen }));
  const picture = new Picture("mask", "Tree-attention mask", "", draw, { tools: [form, prefix] });

  function draw() {
    const { view } = app;
    parts = null;
    if (!view) return s("svg", { viewBox: "0 0 10 10" });
    grid = gridOf(app, picture, view);
    const svg = s("svg", {
      viewBox: `0 0 ${grid.width} ${grid.height}`, width: grid.width, height: grid.height,
      role: "img", "aria-label": spoken(view),
    });
    const band = s("rect", { class: "sx-band", x: 0, width: grid.width, height: grid.cell, y: -99 });
    const label = s("text", { class: "sx-token sx-float", x: grid.left - 6, y: -99 });
    svg.append(band, ground(grid, view), cells(app, grid, view), heads(grid, view), label);
    const rows = grid.labelled ? rowLabels(app, grid, view, svg) : [];
    svg.addEventListener("pointermove", (event) => {
      const box = svg.getBoundingClientRect();
      const y = ((event.clientY - box.top) * grid.height) / box.height - grid.top;
      const row = Math.floor(y / grid.cell);
      app.store.set({ hover: row >= 0 && row < view.rows ? row : null });
    });
    svg.addEventListener("click", () => app.state.hover !== null && app.select(app.state.hover));
    svg.addEventListener("pointerleave", () => app.store.set({ hover: null }));
    parts = { band, label, rows };
    focus();
    return svg;
  }

  function focus() {
    if (!parts) return;
    const { view, focusRow: row } = app;
    parts.band.setAttribute("y", grid.top + row * grid.cell);
    const line = new Set(app.focusLine);
    parts.rows.forEach((text, i) => text.classList.toggle("is-line", line.has(i)));
    if (!grid.labelled) {
      parts.label.textContent = `${signOf(app, row)} ${view.label(row, LABEL)}`;
      parts.label.setAttribute("y", Math.max(12, grid.top + (row + 0.5) * grid.cell + 4));
    }
    picture.note.textContent = readout(view, row);
    picture.note.title = picture.note.textContent;
  }

  app.store.subscribe((any) => {
    if (any("trace", "step", "stage", "presenter", "additive", "prefixOpen")) {
      form.setAttribute("aria-pressed", app.state.additive);
      prefix.setAttribute("aria-pressed", app.state.prefixOpen);
      picture.redraw();
      if (any("prefixOpen")) app.store.afterwards(() => (picture.box.scrollLeft = 1e4));
    } else if (any("row", "hover")) focus();
    picture.element.classList.toggle("is-hidden", app.state.stage < 2);
  });
  picture.element.insertBefore(picture.note, picture.box);
  return picture.element;
}

function gridOf(app, picture, view) {
  const { unit } = app;
  const { width, height } = picture.size;
  const prefix = app.state.prefixOpen ? view.trace.prefixIds(view.step).slice(-PREFIX_SHOWN) : [];
  const hidden = view.step.context_length - prefix.length;
  const before = prefix.length + (hidden > 0 ? 1 : 0);
  const label = (LABEL + 2) * CHARACTER * unit;
  const [left, topLabel] = [label + 34 * unit, label * 1.06];
  const room = Math.min(
    (height - topLabel - 4) / view.rows,
    (width - left - 14) / (view.rows + before),
  );
  const least = LABELLED * unit;
  // Few rows share the room; many are drawn small, without labels, so that the pattern shows.
  // An expanded prefix makes the picture wide: it scrolls rather than shrinks.
  const smallest =
    prefix.length && (height - topLabel) / view.rows >= least ? 1.3 * least : LEAST_CELL;
  const labelled = Math.max(smallest, room * picture.zoom) >= least;
  const top = labelled ? topLabel : 16 * unit;
  const fitting = labelled ? room : Math.min((height - top - 4) / view.rows, (width - left - 14) / (view.rows + before));
  const cell = Math.max(smallest, Math.min(MOST_CELL * unit, fitting) * picture.zoom);
  return {
    cell, left, top, labelled: cell >= least, unit, prefix, hidden, before,
    x: (column) => left + (before + column) * cell + 4,
    width: left + (before + view.rows) * cell + 10,
    height: top + view.rows * cell + 4,
  };
}

function ground(grid, view) {
  const [width, height] = [view.rows * grid.cell, view.rows * grid.cell];
  const group = s("g", {});
  group.append(s("rect", { class: "sx-grid", x: grid.x(0), y: grid.top, width, height }));
  return group;
}

function cells(app, grid, view) {
  const group = s("g", {});
  const { additive, stage } = app.state;
  const gap = grid.cell > 7 ? 1.2 : 0.4;
  const size = Math.max(1, grid.cell - gap);
  const write = (x, y, text, name) =>
    group.append(s("text", { class: `sx-cell-text ${name}`, x: x + size / 2, y: y + size / 2 + 3 * grid.unit }, text));
  for (let row = 0; row < view.rows; row += 1) {
    const y = grid.top + row * grid.cell;
    const kind = stage > 3 || row === 0 ? view.step.verdicts[row] : "open";
    for (let column = 0; column < grid.before; column += 1) {
      const x = grid.left + column * grid.cell;
      group.append(s("rect", { class: "sx-cell is-prefix", x, y, width: size, height: size }));
      if (additive && grid.cell >= NUMBERED) write(x, y, "0", "is-zero");
    }
    const seen = new Set(view.line(row));
    for (const column of seen) {
      const x = grid.x(column);
      group.append(s("rect", { class: `sx-cell is-${kind}`, x, y, width: size, height: size }));
      if (additive && grid.cell >= NUMBERED) write(x, y, "0", "is-zero");
    }
    if (!additive || grid.cell < NUMBERED) continue;
    for (let column = 0; column < view.rows; column += 1) {
      if (!seen.has(column)) write(grid.x(column), y, "−∞", "is-never");
    }
  }
  return group;
}

/** What the columns are: the prefix, then the rows themselves. */
function heads(grid, view) {
  const group = s("g", {});
  const name = (text, column, mark = "") => {
    const [x, y] = [column + grid.cell / 2 + 3.5 * grid.unit, grid.top - 5];
    group.append(s("text", { class: `sx-token sx-head ${mark}`, x, y, transform: `rotate(-90 ${x} ${y})` }, text));
  };
  if (!grid.labelled) {
    group.append(s("text", { class: "sx-quiet", x: grid.left, y: grid.top - 5 }, `prefix ${count(view.step.context_length)} · ${view.rows} rows`));
    return group;
  }
  const prefix = grid.prefix.length ? `+${count(grid.hidden)}` : `prefix ${count(grid.hidden)}`;
  if (grid.hidden > 0) name(prefix, grid.left, "is-prefix");
  grid.prefix.forEach((id, i) =>
    name(view.token(id, LABEL), grid.left + (i + (grid.hidden > 0 ? 1 : 0)) * grid.cell, "is-prefix"));
  for (let row = 0; row < view.rows; row += 1) name(view.label(row, LABEL), grid.x(row));
  group.append(s("text", { class: "sx-quiet sx-end", x: grid.left - 6, y: grid.top - 6 }, "position"));
  return group;
}

/** The verdict's sign, once it is revealed. */
const signOf = (app, row) => (app.state.stage > 3 ? SIGNS[app.view.step.verdicts[row]] : "·");

function rowLabels(app, grid, view, svg) {
  return Array.from({ length: view.rows }, (_, row) => {
    const y = grid.top + (row + 0.5) * grid.cell + 3.5 * grid.unit;
    const label = s("text", { class: "sx-token sx-end", x: grid.left - 30 * grid.unit, y },
      `${view.label(row, LABEL)} ${signOf(app, row)}`);
    const position = view.step.context_length + view.shape.depths[row];
    svg.append(label, s("text", { class: "sx-quiet sx-end", x: grid.left - 6, y }, String(position)));
    return label;
  });
}

function readout(view, row) {
  const position = view.step.context_length + view.shape.depths[row];
  const above = view.line(row).slice(0, -1).map((r) => view.label(r, 12));
  const seen = ["the prefix", ...above, "itself"].join(", ");
  return `${view.label(row, 14)} at position ${count(position)} sees ${seen}`;
}

function spoken(view) {
  return `Tree-attention mask of ${view.rows} rows: each row sees the prefix of ${view.step.context_length} tokens, its ancestors and itself. The table of nodes lists parents and positions.`;
}
