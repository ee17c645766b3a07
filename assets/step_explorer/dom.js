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
