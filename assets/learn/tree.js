// Chapter 5: a chain and a tree on one recorded step, and what trees of some widths hold.

import { Looking } from "../step_explorer/looking.js";
import { Trace } from "../step_explorer/trace.js";
import { treeView } from "../step_explorer/tree.js";
import { tidy } from "../step_explorer/tree_layout.js";
import { cutStep } from "./cut_step.js";
import { nodeCount, pathCount } from "./formulas.js";

/**
 * @import { Tools } from "./kit.js"
 * @typedef {object} Data
 * @property {string} run
 * @property {number} step
 * @property {number[]} widths
 * @property {Record<string, number>} rates tokens per step by width
 * @property {Record<string, number[]>} trees
 * @property {Parameters<Tools["question"]>[0]} question
 */

const DRAWN = 48; // nodes that a picture still shows
const [ACROSS, DOWN] = [110, 16];

/**
 * @param {HTMLElement} place
 * @param {Data} data
 * @param {Tools} tools
 */
export async function mount(place, data, tools) {
  const trace = await tools.recordedRun(data.run);
  const views = { step: stepView(trace, data, tools), count: countView(data, tools) };
  const show = (/** @type {string} */ wanted) => {
    for (const [key, element] of Object.entries(views)) element.hidden = key !== wanted;
  };
  const chosen = tools.choice(
    "Ask",
    [
      ["step", "Chain or tree?"],
      ["count", "How many nodes?"],
    ],
    "step",
    show,
  );
  show("step");
  place.append(chosen.element, ...Object.values(views), tools.question(data.question));
}

/**
 * A step whose accepted path has a guess that was not a head's first.
 * @param {Trace} trace
 */
export function seenIn(trace) {
  const found = trace.steps.findIndex((step) => {
    const { paths } = trace.shape(step);
    return step.accepted.some((row) => row > 0 && Math.max(...paths[row - 1]) > 0);
  });
  return found < 0 ? null : found;
}

/** A tree of the step explorer on its own. @param {string} title @param {string} name */
function treeOf(title, name) {
  const app = new Looking();
  const element = treeView(app);
  element.classList.add(name);
  const heading = element.querySelector("h2");
  const show = (/** @type {Trace} */ trace) => {
    app.trace = trace;
    app.store.set({ step: 0, row: null, hover: null, follow: false });
    app.store.touch("trace");
    const [{ token_ids, emitted }] = trace.steps;
    if (heading)
      heading.textContent = `${title}: ${token_ids.length - 1} nodes, writes ${emitted.length}`;
    return emitted.length;
  };
  return { element, show };
}

/**
 * @param {Trace} trace
 * @param {Data} data
 * @param {Tools} tools
 */
function stepView(trace, data, tools) {
  const { h, numbers } = tools;
  const most = Math.max(...data.widths);
  const chain = treeOf("Chain of the first guesses", "is-chain");
  const tree = treeOf("Tree", "is-wide");
  const note = h("p", { class: "lx-note", role: "status" });
  const setting = { step: data.step, width: most };
  const update = () => {
    const { step, width } = setting;
    const [one, many] = [
      chain.show(cutStep(trace, step, 1)),
      tree.show(cutStep(trace, step, width)),
    ];
    const more = many > one ? `${numbers.plural(many - one, "token")} more` : "no more";
    note.textContent = `In this step the tree writes ${more} than the chain. Over the whole story: chain ${numbers.ratio(data.rates[1])} tokens per step, a tree of at most ${numbers.plural(width, "guess", "guesses")} a head ${numbers.ratio(data.rates[width])}.`;
  };
  const whole = trace.steps.filter(
    ({ token_ids }) => token_ids.length === nodeCount(data.widths) + 1,
  );
  const change = (/** @type {Partial<typeof setting>} */ values) => {
    Object.assign(setting, values);
    update();
  };
  const sliders = [
    tools.slider({
      ...{ label: "Step", min: 0, max: whole.length - 1, step: 1, value: data.step },
      format: (step) => `${step + 1} of ${trace.steps.length}`,
      change: (step) => change({ step }),
    }),
    tools.slider({
      ...{ label: "Guesses of each head, at most", min: 1, max: most, step: 1, value: most },
      format: String,
      change: (width) => change({ width }),
    }),
  ];
  update();
  return h(
    "div",
    { class: "lx-card" },
    h("div", { class: "lx-controls" }, ...sliders.map(({ element }) => element)),
    chain.element,
    tree.element,
    note,
  );
}

/**
 * @param {Data} data
 * @param {Tools} tools
 */
function countView(data, tools) {
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
        ? picture(widths, tools)
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
 * @param {number[]} widths
 * @param {Tools} tools
 */
function picture(widths, { s }) {
  const trace = new Trace();
  trace.addTree({ name: "", paths: pathsOf(widths) });
  const shape = trace.shape(/** @type {any} */ ({ tree: 0 }));
  const { place, lines } = tidy(shape, new Set());
  const spot = (/** @type {number} */ row) => {
    const { column, line } = place.get(row) ?? { column: 0, line: 0 };
    return { x: 14 + ACROSS * column, y: 10 + DOWN * line };
  };
  const width = 28 + ACROSS * widths.length;
  return s(
    "svg",
    {
      viewBox: `0 0 ${Math.max(width, 300)} ${DOWN * lines + 6}`,
      preserveAspectRatio: "xMinYMid",
      role: "img",
      "aria-label": `Tree ${widths.join("-")}: ${nodeCount(widths)} nodes and the root`,
    },
    ...shape.parents.flatMap((parent, row) => {
      if (parent < 0) return [];
      const [from, to] = [spot(parent), spot(row)];
      return [s("path", { d: `M${from.x} ${from.y}L${to.x} ${to.y}` })];
    }),
    ...shape.parents.map((parent, row) => {
      const { x, y } = spot(row);
      return parent < 0
        ? s("rect", { x: x - 6, y: y - 6, width: 12, height: 12 })
        : s("circle", { cx: x, cy: y, r: 5 });
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
