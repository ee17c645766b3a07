// The memory of a draft model beside its target: weights, and a KV cache for each.

import { kvCacheBytes, weightBytes } from "./formulas.js";

/**
 * @import { Data, Llm } from "./draft_and_verify.js"
 * @import { Tools } from "./kit.js"
 */

/**
 * @param {Data} data
 * @param {Tools} tools
 */
export function memoryView(data, tools) {
  const { h, numbers } = tools;
  const setting = {
    target: data.models[0],
    draft: data.models[1],
    targetBits: 4,
    draftBits: 16,
    context: data.context,
    batch: 1,
  };
  const out = tools.figures([
    ["weights", "target's weights"],
    ["cache", "its KV cache"],
    ["draft", "draft's weights"],
    ["draftCache", "its own KV cache"],
    ["extra", "extra memory"],
    ["share", "of the target's"],
  ]);
  const bar = h("div", { class: "lx-shares", "aria-hidden": "true" });
  const note = h("p", { class: "lx-note", role: "status" });
  const update = () => {
    const { target, draft, targetBits, draftBits, context, batch } = setting;
    const parts = [
      weightBytes(target.parameters, targetBits),
      kvCacheBytes(target, context, batch),
      weightBytes(draft.parameters, draftBits),
      kvCacheBytes(draft, context, batch),
    ];
    const [weights, cache, own, ownCache] = parts;
    const share = (own + ownCache) / (weights + cache);
    out.set("weights", numbers.size(weights));
    out.set("cache", numbers.size(cache));
    out.set("draft", numbers.size(own));
    out.set("draftCache", numbers.size(ownCache));
    out.set("extra", numbers.size(own + ownCache));
    out.set("share", numbers.share(share));
    const all = parts.reduce((sum, part) => sum + part, 0);
    bar.replaceChildren(
      ...parts.map((part, i) => {
        const piece = h("i", { class: `is-${i}` });
        piece.style.flexGrow = String(part / all);
        return piece;
      }),
    );
    note.textContent = `${draft.name} beside ${target.name}: ${draft.kv_heads * draft.head_size * draft.layers * 4} bytes of keys and values for each token of the draft's own. Medusa heads have no cache. Sizes: ${target.source}; ${draft.source}.`;
  };
  const change = (/** @type {Partial<typeof setting>} */ values) => {
    Object.assign(setting, values);
    update();
  };
  const element = h(
    "div",
    { class: "lx-card" },
    ...choices(data, setting, change, tools),
    h("div", { class: "lx-controls" }, ...sliders(setting, change, tools)),
    out.element,
    bar,
    note,
  );
  update();
  return element;
}

/**
 * @param {Data} data
 * @param {{ target: Llm, draft: Llm, targetBits: number, draftBits: number }} setting
 * @param {(values: object) => void} change
 * @param {Tools} tools
 */
function choices({ models }, setting, change, tools) {
  const model = (/** @type {"target" | "draft"} */ key, /** @type {string} */ label) =>
    tools.choice(
      label,
      models.map(({ name }) => [name, name]),
      setting[key].name,
      (chosen) => change({ [key]: models.find(({ name }) => name === chosen) }),
    ).element;
  const bits = (/** @type {"targetBits" | "draftBits"} */ key, /** @type {string} */ label) =>
    tools.choice(
      label,
      [4, 8, 16].map((value) => [String(value), String(value)]),
      String(setting[key]),
      (chosen) => change({ [key]: Number(chosen) }),
    ).element;
  return [
    model("target", "Target"),
    bits("targetBits", "its bits"),
    model("draft", "Draft"),
    bits("draftBits", "its bits"),
  ];
}

/**
 * @param {{ context: number, batch: number }} setting
 * @param {(values: object) => void} change
 * @param {Tools} tools
 */
function sliders(setting, change, { slider, numbers }) {
  const powers = (/** @type {number} */ from, /** @type {number} */ to) =>
    Array.from({ length: to - from + 1 }, (_, i) => 2 ** (from + i));
  return [
    slider({
      ...{
        label: "Tokens of context",
        values: powers(9, 17),
        value: setting.context,
        min: 0,
        max: 1,
      },
      format: numbers.count,
      change: (context) => change({ context }),
    }),
    slider({
      ...{ label: "Sequences at once", values: powers(0, 7), value: setting.batch, min: 0, max: 1 },
      format: numbers.count,
      change: (batch) => change({ batch }),
    }),
  ].map(({ element }) => element);
}
