// How each method looks: a mark of its own shape, a colour, and two letters for narrow places.
// All of it comes with the setup (explorer/records/methods.py).

import { s } from "../step_explorer/dom.js";

/** @import { CompareSetup } from "../../types/page.js" */
/** @typedef {CompareSetup["methods"][number]} Look */

const SHAPED = ["medusa", "hydra"]; // methods whose tree can be fitted to the machine
const FITTED = ["auto", "fixed"]; // trees that are

/** Whether a tree is one that was fitted to the machine. @param {string} tree */
export const isFitted = (tree) => FITTED.includes(tree);

/**
 * Whether a method has nothing to fit, or a tree that was fitted to the machine.
 * @param {string} method
 * @param {string} tree of the comparison
 */
export const isTuned = (method, tree) =>
  method === "plain" || (SHAPED.includes(method) && isFitted(tree));
/** @type {Map<string, Look>} */
const LOOKS = new Map();

/**
 * Take in the methods of a page's setup.
 * @param {Look[]} methods
 */
export const learn = (methods) => {
  for (const method of methods) LOOKS.set(method.name, method);
};

/**
 * @param {string} method
 * @returns {Look}
 */
function look(method) {
  const found = LOOKS.get(method);
  if (!found) throw new Error(`the page does not know the method ${method}`);
  return found;
}

/** @param {string} method */
export const code = (method) => look(method).code;
/** @param {string} method */
export const colour = (method) => look(method).colour;

/**
 * The method's mark around a point.
 * @param {string} method
 * @param {number} x
 * @param {number} y
 * @param {number} r
 */
export const mark = (method, x, y, r = 4.5) =>
  s("path", {
    class: "cx-mark",
    style: `fill: ${colour(method)}`,
    d: look(method).mark,
    transform: `translate(${x} ${y}) scale(${r})`,
  });

/**
 * The mark as a picture of its own, before a name.
 * @param {string} method
 */
export const badge = (method) =>
  s(
    "svg",
    { class: "cx-badge", viewBox: "-8 -8 16 16", width: 14, height: 14, "aria-hidden": "true" },
    mark(method, 0, 0, 5),
  );
