// Speedup by category of prompts: a dot and its interval for each method, and the break-even line.

import { h, s } from "../step_explorer/dom.js";
import { plural, ratio } from "../step_explorer/numbers.js";
import { Picture } from "../step_explorer/picture.js";
import { badge, colour, mark } from "./methods.js";

/**
 * @import { ComparePage } from "./main.js"
 * @import { CategoryFigures } from "../../types/records.js"
 */

/**
 * @typedef {Omit<CategoryFigures, "speedup"> & { speedup: number }} Measured
 * @typedef {[category: string, methods: [method: string, figures: Measured][]]} Row
 */

const [LINE, GAP, TOP, LEFT, RIGHT] = [10.5, 12, 20, 92, 14];
const LEAST = 5 * LINE; // height of a category's lines
const FAR = 2; // times the middle one: a speedup beyond it is off the axis
const MARGIN = 0.12; // of the scale beyond the outermost dots

/** @param {ComparePage} page */
export function categoriesView(page) {
  const picture = new Picture("categories", "Speedup by category", "", draw, { zooms: false });
  const legend = h("p", { class: "cx-legend" });
  picture.element.insertBefore(legend, picture.box);
  picture.element.classList.add("cx-chart");

  function draw() {
    const rows = rowsOf(page);
    picture.note.textContent = rows.length
      ? "geometric means; whiskers: 95 % intervals"
      : "appears with the first prompt";
    return chart(rows, picture.size.width);
  }

  function update() {
    legend.replaceChildren(
      ...page.chosen
        .filter((name) => name !== "plain")
        .flatMap((name) => [h("span", {}, badge(name), name)]),
    );
    picture.redraw();
  }
  return { element: picture.element, update };
}

/**
 * [category, prompts, [[method, figures], …]]
 * @param {ComparePage} page
 * @returns {Row[]}
 */
function rowsOf(page) {
  /** @type {Map<string, [method: string, figures: Measured][]>} */
  const found = new Map();
  for (const method of page.chosen) {
    for (const [category, figures] of Object.entries(page.details(method)?.per_category ?? {})) {
      const { speedup } = figures;
      const some = found.get(category) ?? [];
      found.set(category, some);
      if (speedup !== null) some.push([method, { ...figures, speedup }]);
    }
  }
  return [...found].filter(([, some]) => some.length);
}

/**
 * @param {Row[]} rows
 * @param {number} width
 */
function chart(rows, width) {
  const blocks = rows.map(([, some]) => Math.max(LEAST, some.length * LINE) + GAP);
  const height = Math.max(TOP + blocks.reduce((sum, block) => sum + block, 0), 330);
  const scale = scaleOf(rows, width);
  const svg = s("svg", {
    class: "cx-svg",
    viewBox: `0 0 ${width} ${height}`,
    width,
    height,
    role: "img",
    "aria-label": spoken(rows),
  });
  svg.append(...axis(scale, height));
  let y = TOP;
  rows.forEach((row, i) => {
    svg.append(...categoryOf(row, scale, y, width));
    y += blocks[i];
  });
  return svg;
}

/**
 * The least and the greatest speedup of the axis. One that is far from the others does not stretch
 * it: it stands at the edge, with its figure.
 * @param {number[]} dots
 * @returns {[low: number, high: number]}
 */
export function rangeOf(dots) {
  const middle = [...dots].sort((a, b) => a - b)[Math.floor(dots.length / 2)] ?? 1;
  const far = Math.max(1.3, FAR * middle);
  const [least, most] = [Math.min(0.9, ...dots), Math.min(far, Math.max(1.3, ...dots))];
  return [least - MARGIN * (most - least), most + MARGIN * (most - least)];
}

/**
 * From the dots: intervals that reach further are cut off at the edges.
 * @param {Row[]} rows
 * @param {number} width
 */
function scaleOf(rows, width) {
  const [low, high] = rangeOf(rows.flatMap(([, some]) => some.map(([, one]) => one.speedup)));
  const inside = (/** @type {number} */ value) => Math.max(low, Math.min(high, value));
  return {
    low,
    high,
    x: (/** @type {number} */ value) =>
      LEFT + ((width - LEFT - RIGHT) * (inside(value) - low)) / (high - low),
  };
}

/**
 * @param {Row} row
 * @param {Pick<ReturnType<typeof scaleOf>, "x" | "high">} scale
 * @param {number} top
 * @param {number} width
 */
function categoryOf([name, some], { x, high }, top, width) {
  /** @type {SVGElement[]} */
  const parts = [
    s("path", { class: "cx-rule", d: `M0 ${top}H${width}` }),
    s("text", { class: "cx-category", x: 2, y: top + 15 }, short(name)),
    s("text", { class: "cx-quiet", x: 2, y: top + 29 }, plural(some[0][1].prompts, "prompt")),
  ];
  some.forEach(([method, { speedup, half_width }], i) => {
    const y = top + GAP / 2 + LINE * (i + 0.5);
    const title = s(
      "title",
      {},
      `${name}, ${method}: ${ratio(speedup)}×${half_width === null ? "" : ` ± ${ratio(half_width)}`}`,
    );
    const whisker =
      half_width === null
        ? null
        : s("path", {
            class: "cx-whisker",
            style: `stroke: ${colour(method)}`,
            d: `M${x(speedup - half_width)} ${y}H${x(speedup + half_width)}`,
          });
    const beyond =
      speedup <= high
        ? null
        : s("text", { class: "cx-quiet cx-end", x: x(high) - 9, y: y + 4 }, `${ratio(speedup)}× ▸`);
    parts.push(s("g", {}, title, whisker, mark(method, x(speedup), y), beyond));
  });
  return parts;
}

/**
 * @param {ReturnType<typeof scaleOf>} scale
 * @param {number} height
 */
function axis({ low, high, x }, height) {
  const step = high - low > 1.5 ? 0.5 : high - low > 0.7 ? 0.2 : 0.1;
  const ticks = [];
  for (let tick = Math.ceil(low / step) * step; tick <= high + 1e-9; tick += step)
    ticks.push(Number(tick.toFixed(2)));
  const apart = ticks.filter((tick) => tick === 1 || Math.abs(x(tick) - x(1)) > 52); // "1× = plain" is wide
  return [
    ...ticks.map((tick) => s("path", { class: "cx-gridline", d: `M${x(tick)} ${TOP}V${height}` })),
    s("path", { class: "cx-even", d: `M${x(1)} ${TOP - 4}V${height}` }),
    ...apart.map((tick) =>
      s(
        "text",
        { class: "cx-tick", x: x(tick), y: TOP - 7 },
        tick === 1 ? "1× = plain" : `${tick}×`,
      ),
    ),
  ];
}

/** @param {string} text */
const short = (text) => (text.length > 13 ? `${text.slice(0, 12)}…` : text || "(none)");

/** @param {Row[]} rows */
const spoken = (rows) =>
  rows.length === 0
    ? "Speedup by category: nothing measured yet"
    : `Speedup by category. ${rows.map(spokenRow).join("; ")}`;

/** @param {Row} row */
function spokenRow([category, some]) {
  const figures = some.map(([method, { speedup }]) => `${method} ${ratio(speedup)}`);
  return `${category}: ${figures.join(", ")}`;
}
