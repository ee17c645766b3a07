// Chapter 4: the foresight map, the inside of a head, its size, and how often it is right.

import { ForesightMap } from "../step_explorer/foresight_map.js";
import { headView } from "./heads_inside.js";
import { sizeView } from "./heads_size.js";
import { mountOwn } from "./own_run.js";
import { viewsOf } from "./views.js";

/**
 * @import { Tools } from "./kit.js"
 * @import { Trace } from "../step_explorer/trace.js"
 * @typedef {{ name: string, parameters: number, hidden: number, vocabulary: number }} Base
 * @typedef {object} Data
 * @property {string[]} runs
 * @property {Base[]} bases the default model first
 * @property {{ count: number, blocks: number, vocabulary: number, bytes: number, base_bytes: number }} heads
 * @property {{ title: string, source: string, shares: Record<string, number[]> }} accuracy by the
 *   number of guesses that count
 * @property {Parameters<Tools["question"]>[0]} question
 */

const OWN = "your last run";
const HEADS = ["medusa", "hydra"]; // methods whose guesses are heads'

/** @type {[key: string, name: string, view: (data: Data, tools: Tools) => HTMLElement][]} */
const VIEWS = [
  ["inside", "What is a head?", headView],
  ["accuracy", "How often right?", accuracyView],
  ["size", "How large?", sizeView],
];

/**
 * @param {HTMLElement} place
 * @param {Data} data
 * @param {Tools} tools
 */
export const mount = (place, data, tools) =>
  mountOwn(place, "heads", data, tools, (given, own) =>
    viewsOf(
      [
        ["map", "How far ahead?", () => (own ? ownMap(own, tools) : mapView(data, tools))],
        ...VIEWS,
      ],
      given,
      tools,
    ),
  );

/**
 * The step whose accepted path is the longest, if heads guessed it.
 * @param {Trace} trace
 */
export function seenIn({ header, steps }) {
  if (!HEADS.includes(header?.settings.method ?? "")) return null;
  const lengths = steps.map(({ accepted }) => accepted.length);
  const longest = Math.max(...lengths);
  return longest > 1 ? lengths.indexOf(longest) : null;
}

/**
 * @param {Trace} trace
 * @param {Tools} tools
 */
function ownMap(trace, { h }) {
  const map = new ForesightMap();
  map.show(trace);
  return h("div", { class: "lx-card" }, map.controls, map.element);
}

/**
 * @param {Data} data
 * @param {Tools} tools
 */
function mapView(data, tools) {
  let name = data.runs[0];
  const map = new ForesightMap((index, { tokens }) =>
    name === OWN ? null : tools.seeLink(name, tokens[index].step, "Its step"),
  );
  const kept = tools.lastRun();
  const show = async (/** @type {string} */ wanted) => {
    name = wanted;
    const trace = wanted === OWN && kept ? kept : await tools.recordedRun(wanted.toLowerCase());
    if (name === wanted) map.show(trace);
  };
  // Where there is an app, the run is chosen above.
  const runs = [...(kept?.header?.num_heads && !tools.live ? [OWN] : []), ...data.runs];
  const chosen = tools.choice(
    "Run",
    runs.map((each) => [each, each]),
    name,
    show,
  );
  show(name);
  return tools.h("div", { class: "lx-card" }, chosen.element, map.controls, map.element);
}

/**
 * @param {Data} data
 * @param {Tools} tools
 */
function accuracyView({ accuracy }, tools) {
  const { h, numbers } = tools;
  const { 1: top1, 3: top3, 10: top10 } = accuracy.shares;
  const chart = tools.chart({
    label: "",
    height: 250,
    x: {
      title: "head",
      min: 0.8,
      max: top1.length + 0.7,
      ticks: top1.map((_, i) => i + 1),
      format: String,
    },
    y: { title: "", min: 0, max: 1, format: numbers.percent },
  });
  /** @type {[name: string, shares: number[], kind: string][]} */
  const lines = [
    ["one of 10 guesses", top10, "quiet"],
    ["one of 3", top3, "rival"],
    ["first guess", top1, "own"],
  ];
  chart.set({
    label: lines
      .map(([name, shares]) => `${name}: ${shares.map(numbers.percent).join(", ")}`)
      .join("; "),
    lines: lines.map(([name, shares, kind]) => ({
      name,
      kind,
      points: shares.map((share, i) => [i + 1, share]),
    })),
    dots: lines.flatMap(([name, shares, kind]) =>
      shares.map((share, i) => ({
        x: i + 1,
        y: share,
        kind,
        title: `head ${i + 1}, ${name}: ${numbers.percent(share)}`,
      })),
    ),
  });
  return h(
    "div",
    { class: "lx-card" },
    h("h3", {}, accuracy.title),
    chart.element,
    h("p", { class: "lx-note" }, accuracy.source),
  );
}
