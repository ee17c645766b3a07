// The race on one clock: tokens against seconds of each lane's own work, and the speedup.

import { s } from "./dom.js";
import { Picture } from "./picture.js";
import { nameOf } from "./trace.js";

/**
 * @import { Explorer } from "./main.js"
 * @import { Lane } from "./trace.js"
 */

const LANES = ["own", "rival"]; // the run itself, and the other lane of the race
/**
 * @typedef {ReturnType<typeof scaleOf>} Scale
 *
 * @typedef {object} Parts of the picture on view
 * @property {Scale} scale
 * @property {SVGElement[]} lines of the lane and of its rival
 * @property {SVGElement} cursor
 * @property {SVGElement[]} names
 */

const MARGIN = { left: 30, right: 8, top: 6, bottom: 16 };

/** @param {Explorer} app */
export function raceView(app) {
  /** @type {Parts | null} */
  let parts = null;
  const picture = new Picture("race", "The race", "tokens over time, each timed alone", draw, {
    zooms: false,
  });
  function draw() {
    const scale = scaleOf(app, picture.size);
    const svg = s("svg", {
      viewBox: `0 0 ${scale.width} ${scale.height}`,
      width: scale.width,
      height: scale.height,
      role: "img",
      "aria-label": "Tokens of both lanes against time",
    });
    const lines = LANES.map((lane) => s("path", { class: `sx-race-line is-${lane}` }));
    const cursor = s("path", { class: "sx-race-cursor" });
    const names = LANES.map((lane) => s("text", { class: `sx-race-name is-${lane}` }));
    svg.append(...axes(scale), ...lines.toReversed(), cursor, ...names);
    parts = { scale, lines, cursor, names };
    fill();
    return svg;
  }

  function fill() {
    if (!parts) return;
    const { scale, lines, names } = parts;
    const now = scaleOf(app, picture.size);
    if (now.seconds !== scale.seconds || now.tokens !== scale.tokens) {
      picture.redraw();
      return;
    }
    [app.trace, app.trace.rival].forEach((lane, i) => {
      lines[i].setAttribute("d", lane ? stepped(scale, lane, app.state.clock ?? Infinity) : "");
      nameAt(names[i], scale, lane, i === 0 ? -4 : 11);
      if (app.state.playing) names[i].setAttribute("visibility", "hidden"); // at the lines' ends
    });
    place();
  }

  function place() {
    if (!parts) return;
    const { moment } = app;
    const x = moment === null ? null : parts.scale.x(moment);
    parts.cursor.setAttribute(
      "d",
      x === null ? "" : `M${x} ${MARGIN.top}V${parts.scale.height - MARGIN.bottom}`,
    );
  }

  app.store.subscribe((any) => {
    if (any("trace", "presenter")) picture.redraw();
    if (any("trace", "grown", "clock", "playing")) fill();
    else if (any("step", "follow", "resting")) place();
  });
  return picture.element;
}

/**
 * The axes grow in round steps, so that they seldom move.
 * @param {Explorer} app
 * @param {{ width: number, height: number }} size
 */
function scaleOf(app, { width, height }) {
  const { trace } = app;
  const seconds = roundUp(Math.max(0.1, trace.seconds));
  const tokens = roundUp(Math.max(16, trace.tokens.length, trace.rival?.tokens.length ?? 0));
  const [wide, tall] = [width - MARGIN.left - MARGIN.right, height - MARGIN.top - MARGIN.bottom];
  return {
    width,
    height,
    seconds,
    tokens,
    x: (/** @type {number} */ value) => MARGIN.left + (wide * value) / seconds,
    y: (/** @type {number} */ value) => MARGIN.top + tall * (1 - value / tokens),
  };
}

const ROUND = [1, 1.5, 2, 3, 4, 5, 6, 8, 10];

/** @param {number} value */
function roundUp(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return power * (ROUND.find((step) => value <= step * power + 1e-9) ?? 10);
}

/** @param {Scale} scale */
function axes(scale) {
  const bottom = scale.height - MARGIN.bottom;
  /** @type {SVGElement[]} */
  const parts = [
    s("path", {
      class: "sx-axis",
      d: `M${MARGIN.left} ${MARGIN.top}V${bottom}H${scale.width - MARGIN.right}`,
    }),
  ];
  for (const part of [0.5, 1]) {
    const [x, y] = [scale.x(scale.seconds * part), scale.y(scale.tokens * part)];
    parts.push(
      s("path", { class: "sx-gridline", d: `M${MARGIN.left} ${y}H${scale.width - MARGIN.right}` }),
      s(
        "text",
        { class: "sx-quiet sx-end", x: MARGIN.left - 4, y: y + 4 },
        String(Math.round(scale.tokens * part)),
      ),
      s(
        "text",
        { class: part === 1 ? "sx-quiet sx-end" : "sx-quiet", x, y: bottom + 12 },
        `${Number((scale.seconds * part).toPrecision(3))} s`,
      ),
    );
  }
  return parts;
}

/**
 * @param {Scale} scale
 * @param {Lane} lane
 * @param {number} until seconds: while a race is watched, what comes later is not drawn
 */
function stepped(scale, { clock, tokensBy }, until) {
  let path = `M${scale.x(0)} ${scale.y(0)}`;
  clock.forEach((time, i) => {
    if (time > until) return;
    path += `H${scale.x(time).toFixed(1)}V${scale.y(tokensBy[i]).toFixed(1)}`;
  });
  const end = clock.at(-1) ?? 0;
  return until < end ? `${path}H${scale.x(until).toFixed(1)}` : path;
}

/**
 * @param {SVGElement} text
 * @param {Scale} scale
 * @param {Lane | null} lane
 * @param {number} shift
 */
function nameAt(text, scale, lane, shift) {
  const time = lane?.clock.at(-1);
  text.setAttribute("visibility", time === undefined ? "hidden" : "visible");
  if (!lane || time === undefined) return;
  text.textContent = nameOf(lane);
  text.setAttribute("x", String(Math.max(scale.x(time) - 4, MARGIN.left + 46)));
  text.setAttribute("y", String(Math.max(10, scale.y(lane.tokens.length) + shift)));
}
