// Elements from plain values. Children that are strings become text nodes: nothing is ever parsed
// as HTML.

/**
 * @typedef {Node | string | null | undefined} Child
 * @typedef {Record<string, any>} Attributes `on…`: listeners; null, undefined and false are left out
 */

const SVG = "http://www.w3.org/2000/svg";

/**
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {Attributes} [attributes]
 * @param {Child[]} children
 * @returns {HTMLElementTagNameMap[T]}
 */
export const h = (tag, attributes, ...children) =>
  filled(document.createElement(tag), attributes, children);

/**
 * @template {keyof SVGElementTagNameMap} T
 * @param {T} tag
 * @param {Attributes} [attributes]
 * @param {Child[]} children
 * @returns {SVGElementTagNameMap[T]}
 */
export const s = (tag, attributes, ...children) =>
  filled(document.createElementNS(SVG, tag), attributes, children);

/**
 * Replace an element's children; null and undefined are left out.
 * @param {Element} element
 * @param {Child[]} children
 */
export function replace(element, ...children) {
  element.replaceChildren(...children.filter((child) => child !== null && child !== undefined));
}

/**
 * A button. Its title explains it; where the text is a mere sign, it is the spoken label too.
 * @param {string} text
 * @param {string} title
 * @param {(event: any) => unknown} onclick
 * @param {Attributes} more
 */
export const button = (text, title, onclick, more = {}) =>
  h("button", { type: "button", title, "aria-label": spoken(text, title), onclick, ...more }, text);

/**
 * A drop-down list; `options` are [value, text] pairs.
 * @param {string} label
 * @param {[value: string, text: string][]} options
 * @param {string} value
 * @param {(value: string) => unknown} onchange
 */
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
  /** @type {Set<Element>} */
  #on = new Set();

  /** @param {string} name */
  constructor(name) {
    this.name = name;
  }

  /** @param {Iterable<Element>} elements */
  set(elements) {
    const next = new Set(elements);
    for (const element of this.#on) if (!next.has(element)) element.classList.remove(this.name);
    for (const element of next) if (!this.#on.has(element)) element.classList.add(this.name);
    this.#on = next;
  }
}

/**
 * The row of the verify pass that an element inside a picture shows; null: none.
 * @param {EventTarget | null} element
 */
export function rowOf(element) {
  const holder = element instanceof Element ? element.closest("[data-row]") : null;
  const row = holder?.getAttribute("data-row") ?? undefined;
  return row === undefined ? null : Number(row);
}

/**
 * @param {string} text
 * @param {string} title
 */
const spoken = (text, title) => (/[a-z]{2}/i.test(text) ? null : title);

/**
 * @param {string} name
 * @param {Blob} blob
 */
export function download(name, blob) {
  const url = URL.createObjectURL(blob);
  h("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/**
 * @template {Element} E
 * @param {E} element
 * @param {Attributes | undefined} attributes
 * @param {Child[]} children
 * @returns {E}
 */
function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children) if (child !== null && child !== undefined) element.append(child);
  return element;
}

/** @param {Uint8Array} bytes */
export function base64(bytes) {
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary);
}
