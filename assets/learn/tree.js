// Chapter 5: a chain and a tree on one step, and what trees of some widths hold.

import { Looking } from "../step_explorer/looking.js";
import { treeView } from "../step_explorer/tree.js";
import { cutStep } from "./cut_step.js";
import { mountOwn } from "./own_run.js";
import { countView } from "./tree_count.js";
import { viewsOf } from "./views.js";

/**
 * @import { Tools } from "./kit.js"
 * @import { Trace } from "../step_explorer/trace.js"
 * @typedef {object} Data
 * @property {string} run the recorded one
 * @property {string} whose what a text calls the run
 * @property {number[]} steps whose trees have branches
 * @property {number} step
 * @property {number} most guesses of a head
 * @property {Record<string, number>} rates tokens per step by width
 * @property {Record<string, number[]>} trees
 * @property {{ widths: number[], dropped: number[] }} misprinted
 * @property {Parameters<Tools["question"]>[0]} question
 */

/**
 * @param {HTMLElement} place
 * @param {Data} data
 * @param {Tools} tools
 */
export async function mount(place, data, tools) {
  const recorded = await tools.recordedRun(data.run);
  return mountOwn(place, "tree", data, tools, (given, own) =>
    viewsOf(
      [
        ["step", "Chain or tree?", () => stepView(own ?? recorded, given, tools)],
        ["count", "How many nodes?", countView],
      ],
      given,
      tools,
    ),
  );
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
  const { most, steps, whose } = data;
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
    note.textContent = `In this step the tree writes ${more} than the chain. Over all of ${whose}: chain ${numbers.ratio(data.rates[1])} tokens per step, a tree of at most ${numbers.plural(width, "guess", "guesses")} a head ${numbers.ratio(data.rates[width])}.`;
  };
  const change = (/** @type {Partial<typeof setting>} */ values) => {
    Object.assign(setting, values);
    update();
  };
  const sliders = [
    tools.slider({
      ...{ label: "Step", values: steps, min: 0, max: 0, value: data.step },
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
