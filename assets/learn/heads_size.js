// How many parameters heads have, and what share of a model's parameters and bytes that is.

import { headParameters, weightBytes } from "./formulas.js";

/**
 * @import { Tools } from "./kit.js"
 * @import { Data } from "./heads.js"
 */

/** @type {[key: string, name: string][]} */
const KINDS = [
  ["own", "a projection each"],
  ["shared", "the model's LM head"],
  ["frequent", "one to frequent tokens"],
];

/**
 * @param {Data} data
 * @param {Tools} tools
 */
export function sizeView(data, tools) {
  const { h, numbers } = tools;
  const [own, large] = data.bases;
  const setting = { base: large, kind: "own", heads: 5, blocks: 1, bits: 16 };
  const out = tools.figures([
    ["one", "one head"],
    ["all", "all heads"],
    ["share", "of the parameters"],
    ["bytes", "of the bytes"],
  ]);
  const update = () => {
    const { base, kind, heads, blocks, bits } = setting;
    const projected = { own: heads * base.vocabulary, shared: 0, frequent: data.heads.vocabulary };
    const rows = projected[/** @type {keyof typeof projected} */ (kind)];
    const all = headParameters(base.hidden, heads, blocks, rows);
    const one = headParameters(base.hidden, 1, blocks, kind === "own" ? base.vocabulary : 0);
    out.set("one", numbers.scaled(one, "").replace("G", "B"));
    out.set("all", numbers.scaled(all, "").replace("G", "B"));
    out.set("share", numbers.share(all / base.parameters));
    out.set("bytes", numbers.share(weightBytes(all, 16) / weightBytes(base.parameters, bits)));
  };
  const change = (/** @type {Partial<typeof setting>} */ values) => {
    Object.assign(setting, values);
    update();
  };
  const whole = (/** @type {number} */ value) => String(value);
  const models = tools.choice(
    "Model",
    data.bases.map(({ name }) => [name, name]),
    large.name,
    (name) => change({ base: data.bases.find((base) => base.name === name) ?? own }),
  );
  const kinds = tools.choice("Heads project with", KINDS, "own", (kind) => change({ kind }));
  const sliders = [
    tools.slider({
      ...{ label: "Heads", min: 1, max: 8, step: 1, value: setting.heads, format: whole },
      change: (heads) => change({ heads }),
    }),
    tools.slider({
      ...{ label: "Residual blocks each", min: 1, max: 4, step: 1, value: 1, format: whole },
      change: (blocks) => change({ blocks }),
    }),
    tools.slider({
      ...{ label: "Bits of the model (heads: 16)", values: [4, 8, 16], min: 4, max: 16, value: 16 },
      format: whole,
      change: (bits) => change({ bits }),
    }),
  ];
  update();
  return h(
    "div",
    { class: "lx-card" },
    models.element,
    kinds.element,
    h("div", { class: "lx-controls" }, ...sliders.map(({ element }) => element)),
    out.element,
    h(
      "p",
      { class: "lx-note" },
      `Frequent tokens: ${numbers.count(data.heads.vocabulary)}, as the shipped heads have. Measured of these, beside ${own.name}: a draft reads ${numbers.size(data.heads.bytes)}, a one-row pass ${numbers.size(data.heads.base_bytes)}.`,
    ),
  );
}
