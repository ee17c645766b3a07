// A small chart: lines, points and marks over two axes, either of them linear or logarithmic.

import { h, replace, s } from "../step_explorer/dom.js";
import { significant } from "./numbers.js";

/**
 * @typedef {object} Axis
 * @property {string} title
 * @property {number} min
 * @property {number} max
 * @property {boolean} [log]
 * @property {number[]} [ticks]
 * @property {(value: number) => string} [format]
 *
 * @typedef {object} Line
 * @property {string} name written beside its end, right of all lines
 * @property {[x: number, y: number][]} points
 * @property {string} [kind] "own", "rival", "third", "quiet"; each with its own dashes
 *
 * @typedef {object} Dot
 * @property {number} x
 * @property {number} y
 * @property {string} [label]
 * @property {string} [title] what a pointer and a screen reader get
 * @property {string} [kind]
 *
 * @typedef {object} Drawing
 * @property {Line[]} [lines]
 * @property {Dot[]} [dots]
 * @property {{ x: number, label: string }[]} [marks] upright lines
 */

const MARGIN = { left: 52, right: 16, top: 12, bottom: 38 };
const LETTER = 6.4; // pixels, about
const APART = 13; // pixels between the base lines of two names

export class Chart {
  /** @type {Drawing} */
  #drawing = {};
  #width = 0;

  /** @param {{ label: string, x: Axis, y: Axis, height?: number }} options */
  constructor({ label, x, y, height = 260 }) {
    this.label = label;
    this.x = x;
    this.y = y;
    this.height = height;
    this.element = h("div", { class: "lx-chart" });
    this.element.style.height = `${height}px`;
    new ResizeObserver(() => {
      const { clientWidth } = this.element;
      if (clientWidth === 0 || clientWidth === this.#width) return; // 0: it is hidden
      this.#width = clientWidth;
      this.#draw();
    }).observe(this.element);
  }

  /**
   * Draw something; axes may change, too.
   * @param {Drawing & { x?: Partial<Axis>, y?: Partial<Axis>, label?: string }} given
   */
  set({ x, y, label, ...drawing }) {
    Object.assign(this.x, x);
    Object.assign(this.y, y);
    this.label = label ?? this.label;
    this.#drawing = drawing;
    if (this.#width) this.#draw();
  }

  #draw() {
    const { height } = this;
    const width = this.#width;
    const { lines = [], dots = [], marks = [] } = this.#drawing;
    const across = scale(this.x, MARGIN.left, width - rightOf(lines));
    const up = scale(this.y, height - MARGIN.bottom, MARGIN.top);
    const taken = /** @type {Taken[]} */ ([]);
    replace(
      this.element,
      s(
        "svg",
        { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": this.label },
        ...axes(this.x, this.y, across, up, height),
        ...marks.flatMap((mark) => upright(mark, across, height)),
        ...lines.map((line) => path(line, across, up)),
        ...dots.map((dot) => point(dot, across, up)),
        ...dots.map((dot) => dotName(dot, across, up, width, taken)),
        ...lineNames(lines, across, up, height),
      ),
    );
  }
}

/** @param {number} value */
const plain = (value) =>
  value >= 1000 ? significant(value, 2) : String(Number(value.toPrecision(2)));

/** @typedef {(value: number) => number} Scale */
/** @typedef {{ left: number, right: number, top: number, bottom: number }} Taken */

/**
 * From a value to pixels; values outside the axis stay at its ends.
 * @param {Axis} axis
 * @param {number} from
 * @param {number} to
 * @returns {Scale}
 */
export function scale({ min, max, log }, from, to) {
  const place = (/** @type {number} */ value) =>
    log
      ? Math.log(Math.max(value, min / 10) / min) / Math.log(max / min)
      : (value - min) / (max - min);
  return (value) => from + (to - from) * Math.min(1, Math.max(0, place(value)));
}

/**
 * Round values on an axis: powers of ten, or some five equal steps.
 * @param {Axis} axis
 */
export function ticks({ min, max, log, ticks: given }) {
  if (given) return given.filter((value) => value >= min && value <= max);
  if (log) {
    const [first, last] = [Math.ceil(Math.log10(min) - 1e-9), Math.floor(Math.log10(max) + 1e-9)];
    const every = Math.ceil((last - first + 1) / 6);
    return Array.from({ length: last - first + 1 }, (_, i) => 10 ** (first + i)).filter(
      (_, i) => i % every === 0,
    );
  }
  const raw = (max - min) / 5;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = power * ([1, 2, 2.5, 5, 10].find((one) => one * power >= raw - 1e-12) ?? 10);
  const first = Math.ceil(min / step - 1e-9);
  return Array.from({ length: Math.floor(max / step + 1e-9) - first + 1 }, (_, i) =>
    Number(((first + i) * step).toPrecision(12)),
  );
}

/**
 * @param {Axis} x
 * @param {Axis} y
 * @param {Scale} across
 * @param {Scale} up
 * @param {number} height
 */
function axes(x, y, across, up, height) {
  const [bottom, right] = [height - MARGIN.bottom, across(x.max)];
  const written = (/** @type {Axis} */ axis, /** @type {number} */ value) =>
    (axis.format ?? plain)(value);
  return [
    ...ticks(y).flatMap((value) => [
      s("path", { class: "lx-grid", d: `M${MARGIN.left} ${up(value)}H${right}` }),
      s(
        "text",
        { class: "lx-tick is-end", x: MARGIN.left - 6, y: up(value) + 4 },
        written(y, value),
      ),
    ]),
    ...ticks(x).map((value) =>
      s(
        "text",
        { class: "lx-tick is-middle", x: across(value), y: bottom + 15 },
        written(x, value),
      ),
    ),
    s("path", {
      class: "lx-axis",
      d: `M${MARGIN.left} ${MARGIN.top}V${bottom}H${right}`,
    }),
    s("text", { class: "lx-axis-title is-end", x: right, y: height - 6 }, x.title),
    s(
      "text",
      { class: "lx-axis-title is-end", transform: `translate(12 ${MARGIN.top}) rotate(-90)` },
      y.title,
    ),
  ];
}

/**
 * @param {Line} line
 * @param {Scale} across
 * @param {Scale} up
 */
function path({ points, kind = "own" }, across, up) {
  const d = points.map(
    ([x, y], i) => `${i ? "L" : "M"}${across(x).toFixed(1)} ${up(y).toFixed(1)}`,
  );
  return s("path", { class: `lx-line is-${kind}`, d: d.join("") });
}

/**
 * @param {Dot} dot
 * @param {Scale} across
 * @param {Scale} up
 */
function point({ x, y, title, label, kind = "own" }, across, up) {
  const said = title ?? label;
  return s(
    "circle",
    { class: `lx-dot is-${kind}`, cx: across(x), cy: up(y), r: 5 },
    said ? s("title", {}, said) : null,
  );
}

/**
 * @param {{ x: number, label: string }} mark
 * @param {Scale} across
 * @param {number} height
 */
function upright({ x, label }, across, height) {
  const at = across(x);
  return [
    s("path", { class: "lx-mark", d: `M${at} ${MARGIN.top}V${height - MARGIN.bottom}` }),
    s("text", { class: "lx-tick", x: at + 4, y: MARGIN.top + 9 }, label),
  ];
}

/**
 * A dot's name beside it, moved so that it stays in the picture and covers no other dot's name.
 * @param {Dot} dot
 * @param {Scale} across
 * @param {Scale} up
 * @param {number} width
 * @param {Taken[]} taken
 */
function dotName({ x, y, label, kind = "own" }, across, up, width, taken) {
  if (!label) return null;
  const [at, wide] = [across(x) + 9, LETTER * label.length];
  const over = at + wide > width - 4;
  let left = over ? Math.max(MARGIN.left + 4, at - wide - 18) : at;
  let base = Math.max(MARGIN.top + 8, up(y) + 4);
  const box = () => ({ left, right: left + wide, top: base - 11, bottom: base + 3 });
  const other = () => taken.find((one) => overlap(one, box()));
  for (let found = other(), tries = 0; found && tries < 20; found = other(), tries++) {
    const beside = found.left - wide - 18; // on the other side of its dot
    if (beside > MARGIN.left) left = beside;
    else base -= 7;
  }
  taken.push(box());
  return s("text", { class: `lx-name is-${kind}`, x: left, y: base }, label);
}

/**
 * The right margin: names of lines stand in it, where no line runs through them.
 * @param {Line[]} lines
 */
const rightOf = (lines) =>
  Math.max(MARGIN.right, ...lines.map(({ name }) => (name ? 15 + LETTER * name.length : 0)));

/**
 * @param {Line[]} lines
 * @param {Scale} across
 * @param {Scale} up
 * @param {number} height
 */
function lineNames(lines, across, up, height) {
  const named = lines
    .flatMap(({ name, points, kind = "own" }) => {
      const end = points.at(-1);
      return name && end ? [{ name, kind, x: across(end[0]), y: up(end[1]) + 4 }] : [];
    })
    .toSorted((a, b) => a.y - b.y);
  const bases = spread(
    named.map(({ y }) => y),
    APART,
    MARGIN.top + 8,
    height - MARGIN.bottom,
  );
  return named.map(({ name, kind, x }, i) =>
    s("text", { class: `lx-name is-${kind}`, x: x + 9, y: bases[i] }, name),
  );
}

/**
 * Places at least `apart` from each other, none outside low to high while they fit, each near to
 * the wanted one.
 * @param {number[]} wanted the smallest first
 * @param {number} apart
 * @param {number} low
 * @param {number} high
 */
export function spread(wanted, apart, low, high) {
  const places = wanted.map((place) => Math.max(low, place));
  for (let i = 1; i < places.length; i++) places[i] = Math.max(places[i], places[i - 1] + apart);
  let most = high;
  for (let i = places.length - 1; i >= 0; i--, most -= apart) places[i] = Math.min(places[i], most);
  return places;
}

/**
 * @param {Taken} a
 * @param {Taken} b
 */
const overlap = (a, b) =>
  a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
