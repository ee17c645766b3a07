// The switch of the mask: mask, additive form or attention weights; and of these the layer and head.

import { button, h, replace, select } from "./dom.js";

/**
 * @import { Explorer } from "./main.js"
 * @import { State } from "./store.js"
 */

/** @type {[form: State["form"], text: string, title: string][]} */
const FORMS = [
  ["mask", "mask", "Mask: which rows a row may see"],
  [
    "additive",
    "0/−∞",
    "0/−∞: the mask in its additive form, 0 where a row may look and −∞ elsewhere (m)",
  ],
  [
    "weights",
    "attention",
    "The attention weights that a layer's head gave, computed from the recorded tokens (w)",
  ],
];

/** @param {Explorer} app */
export function maskForms(app) {
  const buttons = FORMS.map(([form, text, title]) =>
    button(text, title, () => app.store.set({ form })),
  );
  const layers = select("Layer", [], "", (value) => app.attention.chooseLayer(Number(value)));
  const heads = select("Attention head", [], "", (value) =>
    app.attention.chooseHead(Number(value)),
  );
  const element = h(
    "div",
    { class: "sx-mask-forms", role: "group", "aria-label": "What the mask shows" },
    ...buttons,
    h("span", { class: "sx-mask-head" }, layers, heads),
  );
  app.store.subscribe((any) => {
    if (!any("form", "trace", "step", "layer", "head", "attention")) return;
    buttons.forEach((one, i) =>
      one.setAttribute("aria-pressed", String(app.state.form === FORMS[i][0])),
    );
    const { shown, choices } = app.attention;
    element.classList.toggle("is-weights", app.state.form === "weights");
    fill(layers, "layer", choices[0], shown?.layer ?? app.state.layer);
    fill(heads, "head", choices[1], shown?.head ?? app.state.head);
  });
  return element;
}

/**
 * Offer the numbers, counted from 1 on the page; only what has changed is touched.
 * @param {HTMLSelectElement} list
 * @param {string} noun
 * @param {number[]} numbers
 * @param {number | null} value
 */
function fill(list, noun, numbers, value) {
  const key = numbers.join();
  if (list.dataset.numbers !== key) {
    replace(
      list,
      ...numbers.map((i) => h("option", { value: i }, `${noun} ${i + 1}`)),
      numbers.length ? null : h("option", { value: "" }, `${noun} –`),
    );
    list.dataset.numbers = key;
  }
  list.disabled = numbers.length === 0;
  const shown = numbers.find((one) => one === value) ?? numbers[0];
  list.value = String(shown ?? "");
}
