// Elements from plain values. Children that are strings become text nodes: nothing is ever parsed
// as HTML.

const SVG = "http://www.w3.org/2000/svg";

export const h = (tag, attributes, ...children) =>
  filled(document.createElement(tag), attributes, children);

export const s = (tag, attributes, ...children) =>
  filled(document.createElementNS(SVG, tag), attributes, children);

/** Replace an element's children; null and undefined are left out. */
export function replace(element, ...children) {
  element.replaceChildren(...children.filter((child) => child !== null && child !== undefined));
}

/** A button. Its title explains it; where the text is a mere sign, it is the spoken label too. */
export const button = (text, title, onclick, more = {}) =>
  h("button", { type: "button", title, "aria-label": spoken(text, title), onclick, ...more }, text);

/** A drop-down list; `options` are [value, text] pairs. */
export function select(label, options, value, onchange) {
  const list = h(
    "select",
    { "aria-label": label, title: label, onchange: () => onchange(list.value) },
    ...options.map(([key, text]) => h("option", { value: key }, text)),
  );
  list.value = value;
  return list;
}

/** Keeps a class on the elements that it was given last; only what changes is touched. */
export class Marked {
  #on = new Set();

  constructor(name) {
    this.name = name;
  }

  set(elements) {
    const next = new Set(elements);
    for (const element of this.#on) if (!next.has(element)) element.classList.remove(this.name);
    for (const element of next) if (!this.#on.has(element)) element.classList.add(this.name);
    this.#on = next;
  }
}

/** The row of the verify pass that an element inside a picture shows; null: none. */
export function rowOf(element) {
  const row = element.closest("[data-row]")?.dataset.row;
  return row === undefined ? null : Number(row);
}

const spoken = (text, title) => (/[a-z]{2}/i.test(text) ? null : title);

export function download(name, blob) {
  const url = URL.createObjectURL(blob);
  h("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children) if (child !== null && child !== undefined) element.append(child);
  return element;
}
