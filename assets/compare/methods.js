// How each method looks: a mark of its own shape, a colour, and two letters for narrow places.
// All of it comes with the setup (explorer/records/methods.py).

import { s } from "../step_explorer/dom.js";

const LOOKS = new Map();

/** Take in the methods of a page's setup. */
export const learn = (methods) => methods.forEach((method) => LOOKS.set(method.name, method));

export const code = (method) => LOOKS.get(method).code;
export const colour = (method) => LOOKS.get(method).colour;

/** The method's mark around a point. */
export const mark = (method, x, y, r = 4.5) =>
  s("path", {
    class: "cx-mark",
    style: `fill: ${colour(method)}`,
    d: LOOKS.get(method).mark,
    transform: `translate(${x} ${y}) scale(${r})`,
  });

/** The mark as a picture of its own, before a name. */
export const badge = (method) =>
  s(
    "svg",
    { class: "cx-badge", viewBox: "-8 -8 16 16", width: 14, height: 14, "aria-hidden": "true" },
    mark(method, 0, 0, 5),
  );
