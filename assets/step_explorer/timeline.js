// One bar per step: its height the tokens it added, in the colours of their depths.

import { BOTTOM, barPaths, DEPTHS, LEFT, MIN_CAPACITY, WIDEST } from "./bars.js";
import { replace, s } from "./dom.js";
import { count, plural } from "./numbers.js";
import { Picture } from "./picture.js";
import { LAST_STAGE } from "./store.js";
import { nameOf } from "./trace.js";
import { stepSentence } from "./verdicts.js";

/**
 * @import { Explorer } from "./main.js"
 * @import { Trace } from "./trace.js"
 */

const ABOVE = 13;
/**
 * @typedef {ReturnType<typeof scaleOf>} Scale
 *
 * @typedef {object} Parts of the picture on view
 * @property {SVGElement} svg
 * @property {Scale} scale
 * @property {SVGElement[]} bars
 * @property {SVGElement} cursor
 * @property {SVGElement} rival
 * @property {SVGElement} rivalText
 */

/**
 * @param {Explorer} app
 * @param {Element[]} tools
 */
export function timelineView(app, tools) {
  /** @type {Parts | null} */
  let parts = null;
  const picture = new Picture("timeline", "Steps", "", draw, { zooms: false });
  const { title } = picture;
  picture.tools.prepend(...tools);

  function draw() {
    parts = null;
    const scale = scaleOf(app, picture.size);
    const svg = s("svg", {
      viewBox: `0 0 ${scale.width} ${scale.height}`,
      width: scale.width,
      height: scale.height,
      role: "slider",
      tabindex: 0,
      "aria-label": "Step",
      "aria-valuemin": 1,
      "aria-valuemax": 1,
      "aria-valuenow": 1,
    });
    const bars = Array.from({ length: DEPTHS }, (_, d) => s("path", { class: `sx-bar d${d}` }));
    const cursor = s("rect", {
      class: "sx-cursor",
      y: scale.top - 4,
      height: Math.max(0, scale.height - scale.top + 3),
    });
    const rival = s("path", { class: "sx-rival-mark" });
    const rivalText = s("text", { class: "sx-quiet", y: scale.top - 4 });
    svg.append(
      s("path", { class: "sx-axis", d: `M0 ${scale.height - BOTTOM}H${scale.width}` }),
      cursor,
      ...bars,
      rival,
      rivalText,
    );
    listen(svg);
    parts = { svg, scale, bars, cursor, rival, rivalText };
    fill();
    return svg;
  }

  function fill() {
    if (!parts) return;
    const scale = scaleOf(app, picture.size);
    if (scale.slot !== parts.scale.slot || scale.most !== parts.scale.most) {
      picture.redraw();
      return;
    }
    const { bars } = parts;
    const lengths = app.trace.steps.map(({ emitted }) => emitted.length);
    barPaths(lengths, scale).forEach((path, d) => void bars[d].setAttribute("d", path));
    place();
  }

  function place() {
    const { view } = app;
    if (!parts || !view) return;
    const step = view.index;
    const { svg, scale, cursor, rival, rivalText } = parts;
    cursor.setAttribute("x", String(LEFT + step * scale.slot - 1));
    cursor.setAttribute("width", String(Math.max(3, scale.slot + 1)));
    svg.setAttribute("aria-valuemax", String(app.trace.steps.length));
    svg.setAttribute("aria-valuenow", String(step + 1));
    const sentence = stepSentence(view);
    svg.setAttribute(
      "aria-valuetext",
      `Step ${step + 1} of ${app.trace.steps.length}. ${sentence}`,
    );
    const written = app.trace.rival?.tokensAt(app.trace.clock[step]) ?? 0;
    placeRival(app.trace, scale, written, rival, rivalText);
    replace(title, `Step ${count(step + 1)} of ${count(app.trace.steps.length)}`);
    const done = app.state.stage === LAST_STAGE ? `${sentence} ` : "";
    picture.note.textContent = done + abreast(app.trace, step, written);
    picture.note.title = picture.note.textContent;
  }

  /** @param {SVGSVGElement} svg */
  function listen(svg) {
    const seek = (/** @type {PointerEvent} */ event) => {
      const x = event.clientX - svg.getBoundingClientRect().left - LEFT;
      app.show(Math.floor(x / scaleOf(app, picture.size).slot));
    };
    svg.addEventListener("pointerdown", (event) => {
      svg.setPointerCapture(event.pointerId);
      seek(event);
    });
    svg.addEventListener("pointermove", (event) => event.buttons && seek(event));
  }

  app.store.subscribe((any) => {
    if (any("trace", "presenter", "live")) picture.redraw();
    if (any("trace", "grown")) fill();
    else if (any("step", "stage")) place();
    if (app.view) return;
    replace(title, "No steps yet");
    picture.note.textContent = ""; // what it says is of another run
  });
  return picture.element;
}

/**
 * @param {Explorer} app
 * @param {{ width: number, height: number }} size
 */
function scaleOf(app, { width, height }) {
  const steps = app.trace.steps.length;
  let capacity = Math.max(MIN_CAPACITY, steps);
  if (app.state.live) while (capacity < steps || capacity % MIN_CAPACITY) capacity += 1;
  const depth = Math.max(0, ...app.trace.trees.flatMap((t) => t.paths.map((p) => p.length)));
  return {
    width,
    height,
    top: ABOVE * app.unit,
    slot: Math.min(WIDEST, (width - 2 * LEFT) / capacity),
    most: Math.max(3, depth + 1),
  };
}

/**
 * Where the other lane was at this moment: at the step that wrote the same token here.
 * @param {Trace} trace
 * @param {Scale} scale
 * @param {number} written
 * @param {SVGElement} rival
 * @param {SVGElement} rivalText
 */
function placeRival(trace, scale, written, rival, rivalText) {
  const there = written > 0 && trace.rival !== null;
  const at = there ? (trace.tokens[Math.min(written, trace.tokens.length) - 1]?.step ?? 0) : 0;
  const x = LEFT + (at + 0.5) * scale.slot;
  rival.setAttribute("d", there ? `M${x} ${scale.top - 2}V${scale.height}` : "");
  rivalText.textContent =
    there && trace.rival ? `${nameOf(trace.rival).toLowerCase()} is here` : "";
  const right = x > scale.width - 80;
  rivalText.setAttribute("x", String(right ? x - 3 : x + 3));
  rivalText.setAttribute("text-anchor", right ? "end" : "start");
}

/**
 * @param {Trace} trace
 * @param {number} step
 * @param {number} written
 */
function abreast(trace, step, written) {
  if (!trace.rival) return "";
  const lead = trace.tokensBy[step] - written;
  const words =
    lead === 0
      ? "as far as here"
      : `${plural(Math.abs(lead), "token")} ${lead > 0 ? "behind" : "ahead"}`;
  return `At this moment (${trace.clock[step].toFixed(2)} s) ${nameOf(trace.rival).toLowerCase()} was ${words}.`;
}
