// The race on one clock: tokens against seconds of each lane's own work, and the speedup.

import { h, replace, s } from "./dom.js";
import { NONE, plural, ratio } from "./numbers.js";
import { Picture } from "./picture.js";
import { raceFigures } from "./stats.js";
import { nameOf } from "./trace.js";

/**
 * @import { Explorer } from "./main.js"
 * @import { Trace } from "./trace.js"
 */

const [SLOWER, FASTER] = [0.995, 1.005]; // between them, two digits would show 1.00
/**
 * @typedef {ReturnType<typeof scaleOf>} Scale
 *
 * @typedef {object} Parts of the picture on view
 * @property {Scale} scale
 * @property {{ plain: SVGElement, medusa: SVGElement }} lanes
 * @property {SVGElement} cursor
 * @property {{ plain: SVGElement, medusa: SVGElement }} names
 */

const MARGIN = { left: 30, right: 8, top: 6, bottom: 16 };

/** @param {Explorer} app */
export function raceView(app) {
  /** @type {Parts | null} */
  let parts = null;
  const figure = h("div", { class: "sx-speedup" });
  const picture = new Picture(
    "race",
    "The race",
    "tokens against seconds of each lane's own work",
    draw,
    { zooms: false },
  );
  picture.element.insertBefore(figure, picture.box);

  function draw() {
    const scale = scaleOf(app, picture.size);
    const svg = s("svg", {
      viewBox: `0 0 ${scale.width} ${scale.height}`,
      width: scale.width,
      height: scale.height,
      role: "img",
      "aria-label": "Tokens of both lanes against time",
    });
    const lanes = {
      plain: s("path", { class: "sx-race-plain" }),
      medusa: s("path", { class: "sx-race-medusa" }),
    };
    const cursor = s("path", { class: "sx-race-cursor" });
    const names = {
      medusa: s("text", { class: "sx-race-name is-medusa" }),
      plain: s("text", { class: "sx-race-name" }, "plain"),
    };
    svg.append(...axes(scale), lanes.plain, lanes.medusa, cursor, names.medusa, names.plain);
    parts = { scale, lanes, cursor, names };
    fill();
    return svg;
  }

  function fill() {
    if (!parts) return;
    const { scale, lanes, names } = parts;
    const now = scaleOf(app, picture.size);
    if (now.seconds !== scale.seconds || now.tokens !== scale.tokens) {
      picture.redraw();
      return;
    }
    const { clock, tokensBy, plainClock } = app.trace;
    names.medusa.textContent = nameOf(app.trace);
    lanes.medusa.setAttribute(
      "d",
      stepped(scale, clock, (i) => tokensBy[i]),
    );
    lanes.plain.setAttribute(
      "d",
      stepped(scale, plainClock, (i) => i + 1),
    );
    nameAt(names.medusa, scale, clock.at(-1), tokensBy.at(-1) ?? 0, -4);
    nameAt(names.plain, scale, plainClock.at(-1), plainClock.length, 11);
    place();
    speedup(figure, app.trace);
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
    if (any("trace", "grown")) fill();
    if (any("step", "clock", "playing", "follow")) place();
  });
  speedup(figure, app.trace);
  return picture.element;
}

/**
 * The axes grow in round steps, so that they seldom move.
 * @param {Explorer} app
 * @param {{ width: number, height: number }} size
 */
function scaleOf(app, { width, height }) {
  const { trace } = app;
  const seconds = roundUp(Math.max(0.5, trace.seconds));
  const tokens = roundUp(Math.max(16, trace.tokens.length, trace.plain.length));
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
 * @param {number[]} times
 * @param {(i: number) => number} tokens
 */
function stepped(scale, times, tokens) {
  let path = `M${scale.x(0)} ${scale.y(0)}`;
  times.forEach((time, i) => {
    path += `H${scale.x(time).toFixed(1)}V${scale.y(tokens(i)).toFixed(1)}`;
  });
  return path;
}

/**
 * @param {SVGElement} text
 * @param {Scale} scale
 * @param {number | undefined} time
 * @param {number} tokens
 * @param {number} shift
 */
function nameAt(text, scale, time, tokens, shift) {
  text.setAttribute("visibility", time === undefined ? "hidden" : "visible");
  if (time === undefined) return;
  text.setAttribute("x", String(Math.max(scale.x(time) - 4, MARGIN.left + 46)));
  text.setAttribute("y", String(Math.max(10, scale.y(tokens) + shift)));
}

/**
 * The large figure: how much faster (or slower), and how sure that is.
 * @param {HTMLElement} element
 * @param {Trace} trace
 */
function speedup(element, trace) {
  const figures = raceFigures(trace);
  if (figures.speedup === null) {
    element.className = "sx-speedup is-none";
    return replace(
      element,
      h("strong", {}, NONE),
      h("p", {}, "speedup over plain decoding"),
      h("p", {}, "nothing measured yet"),
    );
  }
  const { speedup: value, spread, estimate } = figures;
  const [kind, words] = judged(value, estimate ? null : spread);
  const [tokens, steps] = [
    plural(trace.tokens.length, "token"),
    plural(trace.steps.length, "step"),
  ];
  const how = estimate
    ? `estimate: only ${plural(trace.plain.length, "plain token")} so far`
    : `measured, ${tokens}, ${steps}`;
  element.className = `sx-speedup is-${kind}`;
  const sure = spread === null || estimate ? "" : ` ± ${ratio(spread)}`;
  return replace(
    element,
    h("strong", {}, `${ratio(value)}×`, h("em", {}, sure)),
    h("p", {}, words),
    h("p", {}, how),
  );
}

/**
 * @param {number} value
 * @param {number | null} spread
 */
function judged(value, spread) {
  if (value >= SLOWER && value <= FASTER) return ["even", "as fast as plain decoding"];
  const unsure = spread !== null && Math.abs(value - 1) < spread;
  const doubt = unsure ? ", but within the spread" : "";
  if (value < SLOWER) return ["slow", `slower than plain decoding${doubt}`];
  return [unsure ? "even" : "fast", `faster than plain decoding${doubt}`];
}
