// A part of the page as an SVG of its own: its boxes, lines and words, each where the browser has
// laid it out and in the colours on screen. Text stays text; nothing needs a style sheet.

import { s } from "./dom.js";
import { linesOf, words } from "./paint_words.js";
import { paintOf, stroke } from "./strokes.js";

/** @import { Attributes } from "./dom.js" */

/**
 * @typedef {{ x: number, y: number, width: number, height: number }} Box
 * @typedef {{ origin: DOMRect, below: SVGElement, above: SVGElement }} Sheet
 * @typedef {{ side: string, kind: string, wide: number, colour: string }} Side
 */

const SIDES = ["top", "right", "bottom", "left"];
// What the pictures inside take from the style sheets.
const KEPT = [
  "fill",
  "fill-opacity",
  "stroke",
  "stroke-opacity",
  "stroke-width",
  "stroke-dasharray",
  "stroke-linejoin",
  "opacity",
  "paint-order",
  "font-family",
  "font-size",
  "font-weight",
  "text-anchor",
  "visibility",
  "display",
];

/**
 * An SVG element that looks as `root` does, what has scrolled out of its boxes included.
 * @param {HTMLElement} root
 * @param {string} title
 */
export function painted(root, title) {
  const origin = root.getBoundingClientRect();
  const wider = root.scrollWidth > root.clientWidth; // what sticks out has a margin, too
  const width = root.scrollWidth + (wider ? parseFloat(getComputedStyle(root).paddingRight) : 0);
  const height = root.scrollHeight;
  const sheet = { origin, below: s("g"), above: s("g") };
  paint(root, sheet);
  return s(
    "svg",
    { xmlns: "http://www.w3.org/2000/svg", viewBox: `0 0 ${width} ${height}`, width, height },
    s("title", {}, title),
    s("rect", { width, height, ...paintOf("fill", getComputedStyle(root).backgroundColor) }),
    sheet.below,
    sheet.above,
  );
}

/**
 * @param {Element} element
 * @param {Sheet} sheet
 */
function paint(element, sheet) {
  const style = getComputedStyle(element);
  if (style.display === "none" || style.visibility === "hidden") return;
  if (element.localName === "svg") {
    sheet.below.append(picture(element, placed(element.getBoundingClientRect(), sheet)));
    return;
  }
  for (const rect of element.getClientRects()) {
    const box = placed(rect, sheet);
    sheet.below.append(...ground(style, box), ...edges(style, box));
    sheet.above.append(...outline(style, box));
  }
  for (const child of element.childNodes) {
    if (child instanceof Element) paint(child, sheet);
    else if (child instanceof Text) {
      for (const line of linesOf(child))
        sheet.below.append(...words(style, line.text, placed(line, sheet)));
    }
  }
}

/**
 * A picture with its computed styles written into it.
 * @param {Element} svg
 * @param {Box} place
 */
function picture(svg, { x, y }) {
  const copy = /** @type {Element} */ (svg.cloneNode(true));
  const [from, to] = [svg, copy].map((one) => one.querySelectorAll("*"));
  from.forEach((element, i) => {
    const style = getComputedStyle(element);
    const kept = KEPT.map((name) => `${name}:${style.getPropertyValue(name)}`).join(";");
    to[i].setAttribute("style", kept);
    for (const name of ["tabindex", "role", "class"]) to[i].removeAttribute(name);
  });
  for (const name of ["tabindex", "role"]) copy.removeAttribute(name);
  copy.setAttribute("x", String(x));
  copy.setAttribute("y", String(y));
  return copy;
}

/**
 * @param {{ left: number, top: number, width: number, height: number }} rect
 * @param {{ origin: DOMRect }} sheet
 * @returns {Box}
 */
const placed = ({ left, top, width, height }, { origin }) => ({
  x: left - origin.left,
  y: top - origin.top,
  width,
  height,
});

/**
 * @param {CSSStyleDeclaration} style
 * @param {Box} box
 */
function ground({ backgroundColor, borderTopLeftRadius }, box) {
  const fill = paintOf("fill", backgroundColor);
  return fill["fill-opacity"] === 0
    ? []
    : [s("rect", { ...box, rx: parseFloat(borderTopLeftRadius), ...fill })];
}

/**
 * Borders: a frame where all sides are the same, else a line for each side that has one.
 * @param {CSSStyleDeclaration} style
 * @param {Box} box
 */
function edges(style, box) {
  const sides = SIDES.map((side) => ({
    side,
    kind: style.getPropertyValue(`border-${side}-style`),
    wide: parseFloat(style.getPropertyValue(`border-${side}-width`)),
    colour: style.getPropertyValue(`border-${side}-color`),
  }));
  const shown = sides.filter(isDrawn);
  const [{ kind, wide, colour }] = sides;
  if (
    shown.length === 4 &&
    shown.every((one) => one.kind === kind && one.wide === wide && one.colour === colour)
  ) {
    return [
      frame(grown(box, -wide / 2), kind, wide, colour, parseFloat(style.borderTopLeftRadius)),
    ];
  }
  return shown.map((one) =>
    s("path", { d: sideOf(one, box), ...stroke(one.kind, one.wide, one.colour) }),
  );
}

/** @param {Side} side */
const isDrawn = ({ kind, wide, colour }) =>
  kind !== "none" && wide > 0 && paintOf("stroke", colour)["stroke-opacity"] !== 0;

/**
 * @param {Side} one
 * @param {Box} box
 */
function sideOf({ side, wide }, { x, y, width, height }) {
  const half = wide / 2;
  if (side === "top" || side === "bottom")
    return `M${x} ${side === "top" ? y + half : y + height - half}h${width}`;
  return `M${side === "left" ? x + half : x + width - half} ${y}v${height}`;
}

/**
 * @param {CSSStyleDeclaration} style
 * @param {Box} box
 */
function outline({ outlineStyle, outlineWidth, outlineColor, borderTopLeftRadius }, box) {
  const wide = parseFloat(outlineWidth);
  if (outlineStyle === "none" || !wide || paintOf("stroke", outlineColor)["stroke-opacity"] === 0)
    return [];
  return [
    frame(grown(box, wide / 2), outlineStyle, wide, outlineColor, parseFloat(borderTopLeftRadius)),
  ];
}

/**
 * @param {Box} box
 * @param {string} kind
 * @param {number} wide
 * @param {string} colour
 * @param {number} rx
 */
const frame = (box, kind, wide, colour, rx) =>
  s("rect", { ...box, rx, ...stroke(kind, wide, colour) });

/**
 * @param {Box} box
 * @param {number} by
 * @returns {Box}
 */
const grown = ({ x, y, width, height }, by) => ({
  x: x - by,
  y: y - by,
  width: Math.max(0, width + 2 * by),
  height: Math.max(0, height + 2 * by),
});
