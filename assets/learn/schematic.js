// One picture for all methods: the text so far, the base model, and how the guesses come about.

import { s } from "../step_explorer/dom.js";

/** @typedef {["nobody" | "base" | "heads" | "model" | "text", "parallel" | "serial", "chain" | "tree"]} Guesses */

const [WIDTH, HEIGHT, SIZE] = [520, 130, 22];
const TEXT = [20, 50, 80]; // where tokens of the text stand
const GUESSES = [270, 330, 390, 450];
const [LINE, BRANCH] = [64, 104];
const WHO = {
  nobody: "base model",
  base: "base model itself",
  heads: "heads of the base model",
  model: "a small model",
  text: "copied from the text",
};

/**
 * @param {Guesses} guesses
 * @param {string} name
 */
export function schematic([who, order, shape], name) {
  const places = who === "nobody" ? [] : GUESSES;
  const said = places.length
    ? `${name}: guesses by ${WHO[who]}, ${order === "parallel" ? "all at once" : "one after the other"}, checked as a ${shape}`
    : `${name}: one token a pass, no guesses`;
  return s(
    "svg",
    { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "lx-schematic", role: "img", "aria-label": said },
    ...TEXT.map((x) => token("is-text", x, LINE)),
    box(135, WHO.nobody),
    arrow(TEXT[2] + SIZE, LINE + SIZE / 2, 133, LINE + SIZE / 2),
    token("is-root", 225, LINE),
    arrow(207, LINE + SIZE / 2, 223, LINE + SIZE / 2),
    ...places.flatMap((x, i) => [
      token("is-guess", x, LINE),
      ...(shape === "tree" ? [token("is-guess", x, BRANCH), branch(x, i)] : []),
      come(who, order, x, i),
    ]),
    places.length ? s("text", { class: "lx-tick", x: 225, y: 14 }, WHO[who]) : null,
  );
}

/**
 * @param {string} kind
 * @param {number} x
 * @param {number} y
 */
const token = (kind, x, y) =>
  s("rect", { class: `lx-piece ${kind}`, x, y, width: SIZE, height: SIZE, rx: 4 });

/**
 * @param {number} x
 * @param {string} name
 */
const box = (x, name) =>
  s(
    "g",
    {},
    s("rect", { class: "lx-base", x, y: LINE - 6, width: 72, height: SIZE + 12, rx: 6 }),
    s("text", { class: "lx-tick is-middle", x: x + 36, y: LINE + 15 }, name),
  );

/**
 * How a guess comes about.
 * @param {Guesses[0]} who
 * @param {Guesses[1]} order
 * @param {number} x
 * @param {number} i
 */
function come(who, order, x, i) {
  const middle = x + SIZE / 2;
  if (order === "serial")
    return arrow(i ? GUESSES[i - 1] + SIZE : 225 + SIZE, LINE + SIZE / 2, x - 2, LINE + SIZE / 2);
  const from = who === "text" ? TEXT[i % 3] + SIZE / 2 : 171;
  return s("path", {
    class: "lx-arrow",
    d: `M${from} ${LINE - 6}C${from} 20 ${middle} 20 ${middle} ${LINE - 2}`,
  });
}

/**
 * @param {number} x
 * @param {number} i
 */
const branch = (x, i) =>
  arrow(i ? GUESSES[i - 1] + SIZE : 225 + SIZE, LINE + SIZE / 2 + 4, x - 2, BRANCH + SIZE / 2);

/**
 * @param {number} x1
 * @param {number} y1
 * @param {number} x2
 * @param {number} y2
 */
const arrow = (x1, y1, x2, y2) => s("path", { class: "lx-arrow", d: `M${x1} ${y1}L${x2} ${y2}` });
