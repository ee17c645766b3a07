// How each method looks: a mark of its own shape, a colour, and two letters for narrow places.

import { s } from "../step_explorer/dom.js";

const LOOKS = {
  plain: { code: "Pl", path: (r) => `M${-r} 0H${r}` },
  medusa: { code: "Me", path: circle },
  hydra: { code: "Hy", path: (r) => `M${-r} ${-r}H${r}V${r}H${-r}Z` },
  "draft-model": { code: "Dm", path: (r) => `M0 ${-1.25 * r}L${1.2 * r} ${r}H${-1.2 * r}Z` },
  lookahead: {
    code: "La",
    path: (r) => `M0 ${-1.35 * r}L${1.35 * r} 0L0 ${1.35 * r}L${-1.35 * r} 0Z`,
  },
  "prompt-lookup": { code: "Lk", path: (r) => `M0 ${1.25 * r}L${1.2 * r} ${-r}H${-1.2 * r}Z` },
};

export const code = (method) => LOOKS[method]?.code ?? method.slice(0, 2);

/** The method's mark around a point. */
export const mark = (method, x, y, r = 4.5) =>
  s("path", {
    class: `cx-mark is-${method}`,
    d: (LOOKS[method]?.path ?? circle)(r),
    transform: `translate(${x} ${y})`,
  });

/** The mark as a picture of its own, before a name. */
export const badge = (method) =>
  s(
    "svg",
    { class: "cx-badge", viewBox: "-8 -8 16 16", width: 14, height: 14, "aria-hidden": "true" },
    mark(method, 0, 0, 5),
  );

function circle(r) {
  return `M${-r} 0A${r} ${r} 0 1 1 ${r} 0A${r} ${r} 0 1 1 ${-r} 0Z`;
}
