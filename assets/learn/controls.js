// Sliders, choices, figures and questions. Each has a label, works by keyboard, and says its value.

import { h, replace } from "../step_explorer/dom.js";

/** @import { Child } from "../step_explorer/dom.js" */

let made = 0;
const fresh = () => `lx-${++made}`;

/**
 * @typedef {object} Slider
 * @property {HTMLElement} element
 * @property {() => number} value
 * @property {(value: number) => void} set without telling
 */

/**
 * A slider with its label and its value in words. `log`: equal steps are equal ratios.
 * @param {{ label: Child, min: number, max: number, value: number, step?: number, log?: boolean,
 *   values?: number[], format: (value: number) => string, change: (value: number) => unknown }} given
 *   `values`: only these can be chosen
 * @returns {Slider}
 */
export function slider({ label, min, max, value, step, log, values, format, change }) {
  const id = fresh();
  const steps = log ? 200 : Math.round((max - min) / (step ?? (max - min) / 100));
  const at = (/** @type {number} */ place) => {
    if (values) return values[place];
    const part = place / steps;
    return log ? min * (max / min) ** part : min + (max - min) * part;
  };
  const placeOf = (/** @type {number} */ wanted) => {
    if (values)
      return values.reduce((best, one, i) => (gap(one) < gap(values[best]) ? i : best), 0);
    const part = log ? Math.log(wanted / min) / Math.log(max / min) : (wanted - min) / (max - min);
    return Math.round(steps * Math.min(1, Math.max(0, part)));
    /** @param {number} one */
    function gap(one) {
      return Math.abs(one - wanted);
    }
  };
  let current = value;
  const input = h("input", {
    type: "range",
    id,
    min: 0,
    max: values ? values.length - 1 : steps,
    step: 1,
    oninput: () => {
      current = at(Number(input.value));
      show();
      change(current);
    },
  });
  const output = h("output", { for: id });
  const show = () => {
    output.textContent = format(current);
    input.setAttribute("aria-valuetext", format(current));
  };
  const set = (/** @type {number} */ wanted) => {
    current = wanted;
    input.value = String(placeOf(wanted));
    show();
  };
  set(value);
  const element = h("div", { class: "lx-slider" }, h("label", { for: id }, label), output, input);
  return { element, value: () => current, set };
}

/**
 * Buttons of which one is pressed.
 * @param {string} label
 * @param {[value: string, text: string][]} options
 * @param {string} value
 * @param {(value: string) => unknown} change
 */
export function choice(label, options, value, change) {
  const buttons = options.map(([key, text]) =>
    h("button", { type: "button", "data-value": key, onclick: () => press(key, true) }, text),
  );
  /** @param {string} key @param {boolean} [report] */
  function press(key, report) {
    for (const one of buttons)
      one.setAttribute("aria-pressed", String(one.getAttribute("data-value") === key));
    if (report) change(key);
  }
  press(value);
  const name = h("span", { class: "lx-choice-label" }, label);
  const element = h(
    "div",
    { class: "lx-choice", role: "group", "aria-label": label },
    name,
    ...buttons,
  );
  return { element, set: press };
}

/**
 * A check box.
 * @param {Child} label
 * @param {boolean} on
 * @param {(on: boolean) => unknown} change
 */
export function toggle(label, on, change) {
  const input = h("input", { type: "checkbox", onchange: () => change(input.checked) });
  input.checked = on;
  return h("label", { class: "lx-toggle" }, input, label);
}

/**
 * Figures with their names; `set` changes one's text.
 * @param {[key: string, name: Child][]} names
 */
export function figures(names) {
  /** @type {Map<string, HTMLElement>} */
  const values = new Map(names.map(([key]) => [key, h("dd", { "data-figure": key })]));
  const parts = names.map(([key, name]) =>
    h("div", {}, h("dt", {}, name), /** @type {HTMLElement} */ (values.get(key))),
  );
  const element = h("dl", { class: "lx-figures", "aria-live": "polite" }, ...parts);
  const set = (/** @type {string} */ key, /** @type {Child[]} */ ...text) => {
    const place = values.get(key);
    if (place) replace(place, ...text);
  };
  return { element, set };
}

/**
 * A question with answers to choose from, checked at once.
 * @param {{ ask: string, options: string[], right: number, why: string }} given `right`: the
 *   index of the right answer, which comes from the records or a formula
 */
export function question({ ask, options, right, why }) {
  const answer = h("p", { class: "lx-answer", role: "status" });
  const buttons = options.map((text, i) =>
    h("button", { type: "button", onclick: () => check(i) }, text),
  );
  /** @param {number} chosen */
  function check(chosen) {
    buttons.forEach((one, i) => {
      one.setAttribute("aria-pressed", String(i === chosen));
      one.classList.toggle("is-right", i === right);
      one.classList.toggle("is-wrong", i === chosen && i !== right);
    });
    answer.textContent = `${chosen === right ? "Yes." : `No: ${options[right]}.`} ${why}`;
  }
  return h(
    "div",
    { class: "lx-question", role: "group", "aria-label": "Question" },
    h("p", {}, ask),
    h("div", { class: "lx-options" }, ...buttons),
    answer,
  );
}
