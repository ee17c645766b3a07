// Where speculation's gain fades as the batch grows: measured passes, and what follows from them.

import { button, h, replace, s } from "../step_explorer/dom.js";
import { count, plural, rate, ratio } from "../step_explorer/numbers.js";
import { Picture } from "../step_explorer/picture.js";
import { going } from "./model.js";

/**
 * @import { Attributes } from "../step_explorer/dom.js"
 * @import { ComparePage } from "./main.js"
 * @import { BatchReport, BatchSize } from "../../types/records.js"
 */

const MARGIN = { left: 34, right: 96, top: 10, bottom: 34 };
const HINT =
  "A batch of b sequences uses the idle computing power that speculation lives on. Passes over several sequences are timed here; what a method gains from them is an estimate.";

/** @param {ComparePage} page */
export function batchView(page) {
  const start = button(
    "Measure batches",
    "Time passes over 1, 2, 4 and 8 sequences, in the same queue as runs",
    () => page.ask("batches"),
  );
  const picture = new Picture("batch", "Batches", "", draw, { zooms: false, tools: [start] });
  const line = h("p", { class: "cx-note" });
  const table = h("div", {
    class: "cx-scroll",
    tabindex: 0,
    role: "region",
    "aria-label": "Table of batch sizes",
  });
  picture.element.insertBefore(line, picture.box);
  picture.element.append(table);

  function draw() {
    const { report } = page.comparison.batches;
    return report
      ? curves(report, picture.size)
      : s("svg", { viewBox: "0 0 1 1", width: 1, height: 1, "aria-hidden": "true" });
  }

  function update() {
    const { batches, live, engine } = page.comparison;
    const { report, phase, text } = batches;
    start.disabled = live || engine.phase === "failed";
    picture.element.classList.toggle("is-measured", report !== null);
    picture.note.textContent = report
      ? `${report.model} · ${report.backend} · ${report.device} · ${report.context_length} tokens of context each`
      : "where the gain fades as the batch grows";
    line.textContent =
      phase === "failed" || phase === "stopped"
        ? text
        : going(batches)
          ? `${text} …`
          : report
            ? report.sentence
            : HINT;
    replace(table, report && rows(report));
    picture.redraw();
  }
  return { element: picture.element, update, live: true };
}

/** @param {BatchReport} report */
function rows({ sizes, method, rows: own }) {
  const widths = sizes[0].cost_curve.rows;
  /** @type {(text: string, title: string, more?: Attributes) => Element} */
  const head = (text, title, more = {}) => h("th", { scope: "col", title, ...more }, text);
  return h(
    "table",
    { class: "cx-table cx-batch-table" },
    h("caption", { class: "sx-unseen" }, "Cost of passes and speed by batch size"),
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        head("batch", "Sequences decoded together", { rowspan: 2 }),
        head(
          "measured: T(b·n)/T(b·1), a pass of n rows a sequence over one of 1",
          "Medians over rounds in which all widths and sizes take turns",
          { colspan: widths.length, scope: "colgroup" },
        ),
        head("measured", "All sequences together", { scope: "colgroup" }),
        head("estimates", `What ${method} makes of these passes`, {
          colspan: 4,
          scope: "colgroup",
        }),
      ),
      h(
        "tr",
        {},
        ...widths.map((n) => head(`n = ${n}`, `${plural(n, "row")} a sequence`)),
        head("plain tokens/s", "Of all sequences together"),
        head(`${method} tokens/s`, `With the best fixed tree, ${own} rows a sequence: estimate`),
        head("speedup", "With the best fixed tree: estimate"),
        head(
          "best rows",
          "Rows a sequence of the tree that is estimated to be fastest; 1 is plain decoding",
        ),
        head("its speedup", "Estimate"),
      ),
    ),
    h(
      "tbody",
      {},
      ...sizes.map((size) =>
        h(
          "tr",
          {},
          h("th", { scope: "row" }, String(size.batch)),
          ...size.cost_curve.ratios.map((value) => number(ratio(value))),
          number(rate(size.plain_tokens_per_second)),
          number(`≈ ${rate(size.tokens_per_second)}`),
          number(`≈ ${ratio(size.speedup)}×`),
          number(count(size.best_rows)),
          number(`≈ ${ratio(size.best_speedup)}×`),
        ),
      ),
    ),
  );
}

/** @param {string} text */
const number = (text) => h("td", { class: "is-number" }, text);

/**
 * The estimated speedup against the batch size: the best fixed tree's, and the best tree's.
 * @param {BatchReport} report
 * @param {{ width: number, height: number }} size
 */
function curves({ sizes, rows: own }, { width, height }) {
  const values = sizes.flatMap(({ speedup, best_speedup: best }) => [speedup, best]);
  const [low, high] = [Math.min(0.8, ...values) - 0.05, Math.max(1.2, ...values) + 0.05];
  const x = (/** @type {number} */ i) =>
    MARGIN.left + ((width - MARGIN.left - MARGIN.right) * i) / Math.max(1, sizes.length - 1);
  const y = (/** @type {number} */ value) =>
    MARGIN.top + (height - MARGIN.top - MARGIN.bottom) * (1 - (value - low) / (high - low));
  const figures = sizes
    .map(
      ({ batch, speedup, best_speedup: best }) =>
        `batch ${batch}: ${ratio(speedup)}, best tree ${ratio(best)}`,
    )
    .join("; ");
  const svg = s("svg", {
    class: "cx-svg",
    viewBox: `0 0 ${width} ${height}`,
    width,
    height,
    role: "img",
    "aria-label": `Estimated speedup by batch size. ${figures}`,
  });
  svg.append(
    s("path", { class: "cx-even", d: `M${MARGIN.left} ${y(1)}H${width - MARGIN.right}` }),
    s("text", { class: "cx-quiet", x: width - MARGIN.right + 6, y: y(1) + 4 }, "plain = 1×"),
    ...sizes.map(({ batch }, i) =>
      s("text", { class: "cx-tick", x: x(i), y: height - 18 }, String(batch)),
    ),
    s(
      "text",
      { class: "cx-tick", x: (MARGIN.left + width - MARGIN.right) / 2, y: height - 3 },
      "sequences in the batch",
    ),
  );
  for (const value of [low + 0.05, high - 0.05])
    svg.append(s("text", { class: "cx-quiet", x: 2, y: y(value) + 4 }, `${ratio(value)}×`));
  /** @type {(kind: string, name: string, pick: (size: BatchSize) => number) => [string, number]} */
  const line = (kind, name, pick) => {
    const points = sizes.map((size, i) => `${x(i).toFixed(1)} ${y(pick(size)).toFixed(1)}`);
    svg.append(
      s("path", { class: `cx-line is-${kind}`, d: `M${points.join("L")}` }),
      ...sizes.map((size, i) =>
        s(
          "circle",
          { class: `cx-dot is-${kind}`, cx: x(i), cy: y(pick(size)), r: 3.5 },
          s("title", {}, `batch ${size.batch}, ${name}: estimate ${ratio(pick(size))}×`),
        ),
      ),
    );
    const last = y(pick(sizes[sizes.length - 1]));
    return [
      name,
      Math.abs(last - y(1)) < 12 ? y(1) + (last > y(1) || kind === "auto" ? 14 : -14) : last,
    ];
  };
  const ends = [
    line("best", "best tree", ({ best_speedup: best }) => best),
    line("auto", `${own} rows`, ({ speedup }) => speedup),
  ];
  if (Math.abs(ends[0][1] - ends[1][1]) < 12) ends[0][1] = ends[1][1] - 13;
  svg.append(
    ...ends.map(([name, at]) =>
      s("text", { class: "cx-end", x: width - MARGIN.right + 6, y: at + 4 }, name),
    ),
  );
  return svg;
}
