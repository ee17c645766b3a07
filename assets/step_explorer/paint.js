// A part of the page as an SVG of its own: its boxes, lines and words, each where the browser has
// laid it out and in the colours on screen. Text stays text; nothing needs a style sheet.

import { s } from "./dom.js";

/** @import { Attributes } from "./dom.js" */

/**
 * @typedef {{ x: number, y: number, width: number, height: number }} Box
 * @typedef {{ origin: DOMRect, below: SVGElement, above: SVGElement }} Sheet
 * @typedef {{ side: string, kind: string, wide: number, colour: string }} Side
 * @typedef {ReturnType<typeof lineOf>} Line
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
/** @type {CanvasRenderingContext2D | undefined} */
let pen; // measures fonts; made for the first text

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
 * Borders: a frame where all sides are alike, else a line for each side that has one.
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

/**
 * @param {string} kind
 * @param {number} wide
 * @param {string} colour
 * @returns {Attributes}
 */
function stroke(kind, wide, colour) {
  /** @type {Record<string, number[]>} */
  const patterns = { dotted: [wide, wide], dashed: [2 * wide, 2 * wide] };
  const dashes = patterns[kind];
  return {
    fill: "none",
    "stroke-width": wide,
    "stroke-dasharray": dashes?.join(" "),
    ...paintOf("stroke", colour),
  };
}

/**
 * The lines that a text is broken into, each with its box.
 * @param {Text} node
 */
function linesOf(node) {
  const range = document.createRange();
  range.selectNodeContents(node);
  const rects = range.getClientRects();
  if (rects.length === 0) return [];
  if (rects.length === 1 && !/[\n\t]/.test(node.data)) return [lineOf(node.data, rects[0])];
  /** @type {Line[]} */
  const lines = [];
  /** @type {Line | null} */
  let open = null; // goes on while characters stand on its height
  let at = 0;
  for (const char of node.data) {
    range.setStart(node, at);
    at += char.length;
    range.setEnd(node, at);
    const rect = range.getClientRects()[0];
    if (char === "\n" || char === "\t") open = null;
    else if (open && rect && Math.abs(rect.top - open.top) < 1) extend(open, char, rect);
    else if (rect) {
      open = lineOf(char, rect);
      lines.push(open);
    }
  }
  return lines;
}

/**
 * @param {string} text
 * @param {DOMRect} rect
 */
const lineOf = (text, { left, top, width, height }) => ({ text, left, top, width, height });

/**
 * @param {Line} line
 * @param {string} char
 * @param {DOMRect} rect
 */
function extend(line, char, { left, right }) {
  const end = Math.max(line.left + line.width, right);
  line.text += char;
  line.left = Math.min(line.left, left);
  line.width = end - line.left;
}

/**
 * A line of text in its box, and what is drawn below it.
 * @param {CSSStyleDeclaration} style
 * @param {string} text
 * @param {Box} box
 */
function words(style, text, box) {
  const baseline = box.y + box.height * ascent(style);
  const below = underline(style, box, baseline);
  const shown = style.whiteSpace.startsWith("pre") ? text : text.replace(/\s+/g, " ");
  if (!shown.trim()) return below;
  const rightToLeft = style.direction === "rtl";
  return [
    ...below,
    s(
      "text",
      {
        x: rightToLeft ? box.x + box.width : box.x,
        y: baseline,
        direction: rightToLeft ? "rtl" : null,
        // Where the font is another one, the words still keep to their place.
        textLength: box.width,
        lengthAdjust: "spacingAndGlyphs",
        "xml:space": "preserve",
        style: "white-space:pre",
        "font-family": style.fontFamily,
        "font-size": style.fontSize,
        "font-weight": style.fontWeight,
        ...paintOf("fill", style.color),
      },
      shown,
    ),
  ];
}

/**
 * Its pen: null only where a canvas has another kind of pen already.
 * @param {HTMLCanvasElement} canvas
 */
const penOf = (canvas) => /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));

/**
 * How much of a line's height lies above the baseline.
 * @param {CSSStyleDeclaration} style
 */
function ascent({ fontStyle, fontWeight, fontSize, fontFamily }) {
  pen ??= penOf(document.createElement("canvas"));
  pen.font = `${fontStyle} ${fontWeight} ${fontSize} ${fontFamily}`;
  const { fontBoundingBoxAscent: above, fontBoundingBoxDescent: below } = pen.measureText("x");
  return above / (above + below);
}

/**
 * @param {CSSStyleDeclaration} style
 * @param {Box} box
 * @param {number} baseline
 */
function underline(style, { x, width }, baseline) {
  if (!style.textDecorationLine.includes("underline")) return [];
  const [kind, wide] = [style.textDecorationStyle, parseFloat(style.textDecorationThickness) || 1];
  const y = baseline + (parseFloat(style.textUnderlineOffset) || 1) + wide / 2;
  const line = (/** @type {string} */ d) =>
    s("path", { d, ...stroke(kind, wide, style.textDecorationColor) });
  if (kind === "wavy") return [line(`M${x} ${y}${"q1 -3 2 0t2 0".repeat(Math.round(width / 4))}`)];
  const lines = [line(`M${x} ${y}h${width}`)];
  if (kind === "double") lines.push(line(`M${x} ${y + 2 * wide}h${width}`));
  return lines;
}

/**
 * A computed colour for what knows no rgba().
 * @param {"fill" | "stroke"} name
 * @param {string} colour
 * @returns {Attributes}
 */
function paintOf(name, colour) {
  const [, parts, alpha] = /^rgba\((.+), ([\d.]+)\)$/.exec(colour) ?? [];
  return parts
    ? { [name]: `rgb(${parts})`, [`${name}-opacity`]: Number(alpha) }
    : { [name]: colour };
}
