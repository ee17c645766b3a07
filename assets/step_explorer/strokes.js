// Colours and lines of the page as attributes of SVG.

/** @import { Attributes } from "./dom.js" */

/**
 * @param {string} kind
 * @param {number} wide
 * @param {string} colour
 * @returns {Attributes}
 */
export function stroke(kind, wide, colour) {
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
 * A computed colour for what knows no rgba().
 * @param {"fill" | "stroke"} name
 * @param {string} colour
 * @returns {Attributes}
 */
export function paintOf(name, colour) {
  const [, parts, alpha] = /^rgba\((.+), ([\d.]+)\)$/.exec(colour) ?? [];
  return parts
    ? { [name]: `rgb(${parts})`, [`${name}-opacity`]: Number(alpha) }
    : { [name]: colour };
}
