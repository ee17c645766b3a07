// How many paths and nodes a tree of some widths has, and its picture.

import { Trace } from "../step_explorer/trace.js";
import { tidy } from "../step_explorer/tree_layout.js";
import { nodeCount, pathCount } from "./formulas.js";

/**
 * @import { Tools } from "./kit.js"
 * @import { Data } from "./tree.js"
 */

const DRAWN = 48; // nodes that a picture still shows
const [ACROSS, DOWN] = [110, 16];

/**
 * @param {Data} data
 * @param {Tools} tools
 */
export function countView(data, tools) {
  const { h, numbers } = tools;
  let widths = [...data.trees["2-2-1"]];
  const out = tools.figures([
    ["paths", "paths, Π s"],
    ["nodes", "nodes"],
    ["rows", "rows of one pass"],
    ["passes", "passes, path by path"],
  ]);
  const shape = h("div", { class: "lx-shape" });
  const update = () => {
    const [paths, nodes] = [pathCount(widths), nodeCount(widths)];
    out.set("paths", numbers.count(paths));
    out.set("nodes", numbers.count(nodes));
    out.set("rows", numbers.count(nodes + 1));
    out.set("passes", numbers.count(paths));
    shape.replaceChildren(
      nodes <= DRAWN
        ? pictures(widths, data, tools)
        : h("p", { class: "lx-note" }, `${numbers.count(nodes)} nodes are too many to draw here.`),
    );
  };
  const places = h("div", { class: "lx-controls" });
  const presets = tools.choice(
    "Tree",
    Object.keys(data.trees).map((name) => [name, name]),
    "2-2-1",
    (name) => {
      widths = [...data.trees[name]];
      sliders();
      update();
    },
  );
  const sliders = () =>
    places.replaceChildren(
      ...[0, 1, 2, 3].map(
        (depth) =>
          tools.slider({
            ...{ label: `Guesses of head ${depth + 1}`, min: 0, max: 10, step: 1 },
            value: widths[depth] ?? 0,
            format: (value) => (value ? String(value) : "not used"),
            change: (value) => {
              widths = set(widths, depth, value);
              presets.set("");
              update();
            },
          }).element,
      ),
    );
  sliders();
  update();
  return h("div", { class: "lx-card" }, presets.element, places, out.element, shape);
}

/**
 * Another width at a depth; 0 ends the tree there.
 * @param {number[]} widths
 * @param {number} depth
 * @param {number} value
 */
const set = (widths, depth, value) =>
  value === 0
    ? widths.slice(0, depth)
    : Array.from({ length: Math.max(widths.length, depth + 1) }, (_, i) =>
        i === depth ? value : (widths[i] ?? 1),
      );

/**
 * The tree; and beside the example of tutorials, what they often print in its place.
 * @param {number[]} widths
 * @param {Data} data
 * @param {Tools} tools
 */
function pictures(widths, { misprinted }, tools) {
  const { h, numbers } = tools;
  const right = picture(widths, [], tools);
  if (String(widths) !== String(misprinted.widths)) return right;
  const { dropped } = misprinted;
  const left = pathsOf(widths).filter((path) => !isBelow(path, dropped));
  const ends = left.filter((path) => path.length === widths.length);
  return h(
    "div",
    { class: "lx-pair" },
    h(
      "figure",
      {},
      h("figcaption", {}, "Right: every node of a level has all its children."),
      right,
    ),
    h(
      "figure",
      { class: "is-misprint" },
      h(
        "figcaption",
        {},
        `As it is often printed: a child of head ${dropped.length} is dropped, with what follows it. ${numbers.plural(left.length, "node")}, ${numbers.plural(ends.length, "path")}.`,
      ),
      picture(widths, dropped, tools),
    ),
  );
}

/**
 * Whether a path is the other one, or goes on from there.
 * @param {number[]} path
 * @param {number[]} other
 */
const isBelow = (path, other) =>
  other.length > 0 && other.every((rank, depth) => path[depth] === rank);

/**
 * @param {number[]} widths
 * @param {number[]} dropped the path of a node that is missing; none: []
 * @param {Tools} tools
 */
function picture(widths, dropped, { s }) {
  const paths = pathsOf(widths);
  const trace = new Trace();
  trace.addTree({ name: "", paths });
  const shape = trace.shape(/** @type {any} */ ({ tree: 0 }));
  const { place, lines } = tidy(shape, new Set());
  const spot = (/** @type {number} */ row) => {
    const { column, line } = place.get(row) ?? { column: 0, line: 0 };
    return { x: 14 + ACROSS * column, y: 10 + DOWN * line };
  };
  const width = 28 + ACROSS * widths.length;
  const look = (/** @type {number} */ row) =>
    row > 0 && isBelow(paths[row - 1], dropped) ? "is-dropped" : null;
  const left = paths.filter((path) => !isBelow(path, dropped)).length;
  return s(
    "svg",
    {
      viewBox: `0 0 ${Math.max(width, 300)} ${DOWN * lines + 6}`,
      preserveAspectRatio: "xMinYMid",
      role: "img",
      "aria-label": `Tree ${widths.join("-")}: ${left} nodes and the root`,
    },
    ...shape.parents.flatMap((parent, row) => {
      if (parent < 0) return [];
      const [from, to] = [spot(parent), spot(row)];
      return [s("path", { class: look(row), d: `M${from.x} ${from.y}L${to.x} ${to.y}` })];
    }),
    ...shape.parents.map((parent, row) => {
      const { x, y } = spot(row);
      return parent < 0
        ? s("rect", { x: x - 6, y: y - 6, width: 12, height: 12 })
        : s("circle", { class: look(row), cx: x, cy: y, r: 5 });
    }),
  );
}

/**
 * Rank paths, parents first.
 * @param {number[]} widths
 */
export function pathsOf(widths) {
  /** @type {number[][]} */
  let level = [[]];
  const all = [];
  for (const width of widths) {
    level = level.flatMap((path) => Array.from({ length: width }, (_, rank) => [...path, rank]));
    all.push(...level);
  }
  return all;
}
