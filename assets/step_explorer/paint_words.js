// Words of a page as SVG text: the lines that the browser has broken them into, each in its place.

import { s } from "./dom.js";
import { paintOf, stroke } from "./strokes.js";

/** @import { Box } from "./paint.js" */

/** @typedef {ReturnType<typeof lineOf>} Line */

/** @type {CanvasRenderingContext2D | undefined} */
let pen; // measures fonts; made for the first text

/**
 * The lines that a text is broken into, each with its box.
 * @param {Text} node
 */
export function linesOf(node) {
  const range = document.createRange();
  range.selectNodeContents(node);
  const rects = range.getClientRects();
  if (rects.length === 0) return [];
  if (rects.length === 1 && !/[\n\t]/.test(node.data)) return [lineOf(node.data, rects[0])];
  /** @type {Line[]} */
  const lines = [];
  /** @type {Line | null} */
  let open = null; // continues while characters stand on its height
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
export function words(style, text, box) {
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
