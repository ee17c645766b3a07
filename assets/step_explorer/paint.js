// A part of the page as an SVG of its own: its boxes, lines and words, each where the browser has
// laid it out and in the colours on screen. Text stays text; nothing needs a style sheet.

import { s } from "./dom.js";

const SIDES = ["Top", "Right", "Bottom", "Left"];
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
let pen = null; // measures fonts; made for the first text

/** An SVG element that looks as `root` does, what has scrolled out of its boxes included. */
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
    if (child.nodeType === Node.ELEMENT_NODE) paint(child, sheet);
    else if (child.nodeType === Node.TEXT_NODE) {
      for (const line of linesOf(child))
        sheet.below.append(...words(style, line.text, placed(line, sheet)));
    }
  }
}

/** A picture with its computed styles written into it. */
function picture(svg, { x, y }) {
  const copy = svg.cloneNode(true);
  const [from, to] = [svg, copy].map((one) => one.querySelectorAll("*"));
  from.forEach((element, i) => {
    const style = getComputedStyle(element);
    const kept = KEPT.map((name) => `${name}:${style.getPropertyValue(name)}`).join(";");
    to[i].setAttribute("style", kept);
    for (const name of ["tabindex", "role", "class"]) to[i].removeAttribute(name);
  });
  for (const name of ["tabindex", "role"]) copy.removeAttribute(name);
  copy.setAttribute("x", x);
  copy.setAttribute("y", y);
  return copy;
}

const placed = ({ left, top, width, height }, { origin }) => ({
  x: left - origin.left,
  y: top - origin.top,
  width,
  height,
});

function ground({ backgroundColor, borderTopLeftRadius }, box) {
  const fill = paintOf("fill", backgroundColor);
  return fill["fill-opacity"] === 0
    ? []
    : [s("rect", { ...box, rx: parseFloat(borderTopLeftRadius), ...fill })];
}

/** Borders: a frame where all sides are alike, else a line for each side that has one. */
function edges(style, box) {
  const sides = SIDES.map((side) => ({
    side,
    kind: style[`border${side}Style`],
    wide: parseFloat(style[`border${side}Width`]),
    colour: style[`border${side}Color`],
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

const isDrawn = ({ kind, wide, colour }) =>
  kind !== "none" && wide > 0 && paintOf("stroke", colour)["stroke-opacity"] !== 0;

function sideOf({ side, wide }, { x, y, width, height }) {
  const half = wide / 2;
  if (side === "Top" || side === "Bottom")
    return `M${x} ${side === "Top" ? y + half : y + height - half}h${width}`;
  return `M${side === "Left" ? x + half : x + width - half} ${y}v${height}`;
}

function outline({ outlineStyle, outlineWidth, outlineColor, borderTopLeftRadius }, box) {
  const wide = parseFloat(outlineWidth);
  if (outlineStyle === "none" || !wide || paintOf("stroke", outlineColor)["stroke-opacity"] === 0)
    return [];
  return [
    frame(grown(box, wide / 2), outlineStyle, wide, outlineColor, parseFloat(borderTopLeftRadius)),
  ];
}

const frame = (box, kind, wide, colour, rx) =>
  s("rect", { ...box, rx, ...stroke(kind, wide, colour) });

const grown = ({ x, y, width, height }, by) => ({
  x: x - by,
  y: y - by,
  width: Math.max(0, width + 2 * by),
  height: Math.max(0, height + 2 * by),
});

function stroke(kind, wide, colour) {
  const dashes = { dotted: [wide, wide], dashed: [2 * wide, 2 * wide] }[kind];
  return {
    fill: "none",
    "stroke-width": wide,
    "stroke-dasharray": dashes?.join(" "),
    ...paintOf("stroke", colour),
  };
}

/** The lines that a text is broken into, each with its box. */
function linesOf(node) {
  const range = document.createRange();
  range.selectNodeContents(node);
  const rects = range.getClientRects();
  if (rects.length === 0) return [];
  if (rects.length === 1 && !/[\n\t]/.test(node.data)) return [lineOf(node.data, rects[0])];
  const lines = [];
  let [at, open] = [0, false];
  for (const char of node.data) {
    range.setStart(node, at);
    at += char.length;
    range.setEnd(node, at);
    const rect = range.getClientRects()[0];
    if (char === "\n" || char === "\t" || !rect) open = open && char !== "\n" && char !== "\t";
    else if (open && Math.abs(rect.top - lines.at(-1).top) < 1) extend(lines.at(-1), char, rect);
    else open = lines.push(lineOf(char, rect)) > 0;
  }
  return lines;
}

const lineOf = (text, { left, top, width, height }) => ({ text, left, top, width, height });

function extend(line, char, { left, right }) {
  const end = Math.max(line.left + line.width, right);
  line.text += char;
  line.left = Math.min(line.left, left);
  line.width = end - line.left;
}

/** A line of text in its box, and what is drawn below it. */
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

/** How much of a line's height lies above the baseline. */
function ascent({ fontStyle, fontWeight, fontSize, fontFamily }) {
  pen ??= document.createElement("canvas").getContext("2d");
  pen.font = `${fontStyle} ${fontWeight} ${fontSize} ${fontFamily}`;
  const { fontBoundingBoxAscent: above, fontBoundingBoxDescent: below } = pen.measureText("x");
  return above / (above + below);
}

function underline(style, { x, width }, baseline) {
  if (!style.textDecorationLine.includes("underline")) return [];
  const [kind, wide] = [style.textDecorationStyle, parseFloat(style.textDecorationThickness) || 1];
  const y = baseline + (parseFloat(style.textUnderlineOffset) || 1) + wide / 2;
  const line = (d) => s("path", { d, ...stroke(kind, wide, style.textDecorationColor) });
  if (kind === "wavy") return [line(`M${x} ${y}${"q1 -3 2 0t2 0".repeat(Math.round(width / 4))}`)];
  const lines = [line(`M${x} ${y}h${width}`)];
  if (kind === "double") lines.push(line(`M${x} ${y + 2 * wide}h${width}`));
  return lines;
}

/** A computed colour for what knows no rgba(). */
function paintOf(name, colour) {
  const [, parts, alpha] = /^rgba\((.+), ([\d.]+)\)$/.exec(colour) ?? [];
  return parts
    ? { [name]: `rgb(${parts})`, [`${name}-opacity`]: Number(alpha) }
    : { [name]: colour };
}
