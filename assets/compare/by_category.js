// Speedup by category of prompts: a dot and its interval for each method, and the break-even line.

import { h, s } from "../step_explorer/dom.js";
import { plural, ratio } from "../step_explorer/numbers.js";
import { Picture } from "../step_explorer/picture.js";
import { badge, mark } from "./methods.js";

const [LINE, GAP, TOP, BOTTOM, LEFT, RIGHT] = [13, 12, 8, 20, 92, 12];

export function categoriesView(page) {
  const picture = new Picture("categories", "Speedup by category", "", draw, { zooms: false });
  const legend = h("p", { class: "cx-legend" });
  picture.element.insertBefore(legend, picture.box);
  picture.element.classList.add("cx-chart");

  function draw() {
    const rows = rowsOf(page);
    picture.note.textContent = rows.length ? "geometric means over prompts; whiskers: 95 % intervals" : "appears with the first prompt";
    return rows.length ? chart(rows, picture.size.width) : empty();
  }

  function update() {
    legend.replaceChildren(...page.chosen.filter((name) => name !== "plain").flatMap((name) => [h("span", {}, badge(name), name)]));
    picture.redraw();
  }
  return { element: picture.element, update };
}

/** [category, prompts, [[method, figures], …]] */
function rowsOf(page) {
  const found = new Map();
  for (const method of page.chosen) {
    for (const [category, figures] of Object.entries(page.details(method)?.per_category ?? {})) {
      if (!found.has(category)) found.set(category, []);
      if (figures.speedup !== null) found.get(category).push([method, figures]);
    }
  }
  return [...found].filter(([, some]) => some.length);
}

export const empty = () => s("svg", { viewBox: "0 0 10 10", width: 10, height: 10, "aria-hidden": "true" });

function chart(rows, width) {
  const lines = rows.reduce((sum, [, some]) => sum + some.length, 0);
  const height = TOP + lines * LINE + rows.length * GAP + BOTTOM;
  const ends = rows.flatMap(([, some]) => some.flatMap(([, { speedup, spread }]) => [speedup - (spread ?? 0), speedup + (spread ?? 0)]));
  const [low, high] = [Math.min(0.9, ...ends.map((end) => Math.max(0, end))), Math.max(1.2, ...ends.map((end) => Math.min(end, 4)))];
  const x = (value) => LEFT + ((width - LEFT - RIGHT) * (Math.max(low, Math.min(high, value)) - low)) / (high - low);
  const svg = s("svg", { class: "cx-svg", viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": spoken(rows) });
  svg.append(...axis(x, low, high, height));
  let y = TOP;
  for (const [category, some] of rows) {
    svg.append(s("path", { class: "cx-rule", d: `M0 ${y - 2}H${width}` }),
      s("text", { class: "cx-category", x: 2, y: y + 12 }, short(category)),
      s("text", { class: "cx-quiet", x: 2, y: y + 26 }, plural(some[0][1].prompts, "prompt")));
    for (const [method, { speedup, spread }] of some) {
      y += LINE;
      const title = s("title", {}, `${category}, ${method}: ${ratio(speedup)}×${spread === null ? "" : ` ± ${ratio(spread)}`}`);
      const whisker = spread === null ? null : s("path", { class: `cx-whisker is-${method}`, d: `M${x(speedup - spread)} ${y - 3}H${x(speedup + spread)}` });
      svg.append(s("g", {}, title, whisker, mark(method, x(speedup), y - 3)));
    }
    y += GAP;
  }
  return svg;
}

function axis(x, low, high, height) {
  const bottom = height - BOTTOM + 4;
  const step = high - low > 1.5 ? 0.5 : high - low > 0.7 ? 0.2 : 0.1;
  const ticks = [];
  for (let tick = Math.ceil(low / step) * step; tick <= high + 1e-9; tick += step) ticks.push(Number(tick.toFixed(2)));
  return [
    ...ticks.map((tick) => s("path", { class: "cx-gridline", d: `M${x(tick)} ${TOP}V${bottom}` })),
    s("path", { class: "cx-even", d: `M${x(1)} ${TOP - 4}V${bottom}` }),
    ...ticks.map((tick) => s("text", { class: "cx-tick", x: x(tick), y: height - 3 }, tick === 1 ? "1× = plain" : `${tick}×`)),
  ];
}

const short = (text) => (text.length > 13 ? `${text.slice(0, 12)}…` : text || "(none)");

const spoken = (rows) =>
  `Speedup by category. ${rows.map(([category, some]) => `${category}: ${some.map(([method, { speedup }]) => `${method} ${ratio(speedup)}`).join(", ")}`).join("; ")}`;
