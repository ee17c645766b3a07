// One node of the candidate tree: its sign, its label, its figures, and the edge to its parent.

import { s } from "./dom.js";
import { probability, shortProbability } from "./numbers.js";
import { ACCEPT_STAGE } from "./store.js";
import { descendants } from "./tree_layout.js";
import { SIGNS } from "./verdicts.js";

/**
 * @import { Looking } from "./looking.js"
 * @import { Grid } from "./tree.js"
 * @import { View } from "./verdicts.js"
 */

const ROOMY = 22; // pixels of a line that has room for probabilities
// Pixels from a node to where the edge to it turns: a probability stands between them, or nothing.
const [WIDE_TURN, TURN, BONUS_TURN] = [31, 20, 14];

/** @param {Pick<Grid, "line" | "unit">} grid */
const showsProbabilities = ({ line, unit }) => line >= ROOMY * unit;

/**
 * Draw a row's node and the edge to it; both are given back.
 * @param {Looking} app
 * @param {View} view
 * @param {Grid} grid
 * @param {number} row
 * @param {SVGElement} edges
 * @param {SVGElement} marks
 * @returns {SVGElement[]}
 */
export function drawNode(app, view, grid, row, edges, marks) {
  const { state } = app;
  const { step, shape } = view;
  const kind = state.stage > 3 || row === 0 ? view.kind(row) : "open";
  const { x, y } = grid.at(row);
  const base = state.stage > 2 ? step.base_probs[row] : 0.15;
  const group = s("g", {
    class: `sx-node is-${kind}`,
    role: "treeitem",
    "aria-level": shape.depths[row] + 1,
    "aria-label": spoken(view, row, kind),
    "aria-selected": "false",
    tabindex: -1,
    "data-row": row,
  });
  const radius = grid.unit * (2.6 + 4.2 * Math.sqrt(base)) * Math.min(1, grid.line / 14);
  const reach = Math.min(grid.line, 34 * grid.unit);
  group.append(
    s("rect", {
      class: "sx-hit",
      x: x - 9,
      y: y - reach / 2,
      width: grid.column,
      height: reach,
    }),
    s("circle", { class: "sx-ring", cx: x, cy: y, r: radius + 3.5 * grid.unit }),
    shapeOf(kind, x, y, radius),
  );
  const folded = grid.folded.has(row) ? ` ▸+${descendants(shape, row)}` : "";
  const goesOn = state.stage >= ACCEPT_STAGE && row === step.accepted.at(-1) && step.bonus !== null;
  const leaf = !goesOn && (folded || shape.children[row].length === 0);
  if (grid.line >= 9 * grid.unit || kind === "accepted") {
    group.append(
      s(
        "text",
        {
          class: "sx-token",
          x: x + radius + 4 * grid.unit,
          y: leaf || grid.line < 20 * grid.unit ? y + 3.8 * grid.unit : y - 5 * grid.unit,
        },
        view.label(row, grid.limit) + folded,
      ),
    );
  }
  marks.append(group);
  const edge = row > 0 ? drawEdge(view, grid, row, kind, radius) : null;
  if (edge) edges.append(edge);
  if (row > 0 && showsProbabilities(grid)) {
    group.append(
      s(
        "text",
        {
          class: "sx-draft",
          x: x - radius - 3 * grid.unit,
          y: y + 10.5 * grid.unit,
        },
        shortProbability(step.draft_probs[row]),
      ),
    );
  }
  return edge ? [group, edge] : [group];
}

/**
 * Along the parent's line, down beside the child, and to it.
 * @param {View} view
 * @param {Grid} grid
 * @param {number} row
 * @param {string} kind
 * @param {number} radius
 */
function drawEdge(view, grid, row, kind, radius) {
  const [from, to] = [grid.at(view.shape.parents[row]), grid.at(row)];
  const turn = to.x - (showsProbabilities(grid) ? WIDE_TURN : TURN) * grid.unit;
  const path =
    from.y === to.y
      ? `M${from.x} ${from.y}H${to.x - radius}`
      : `M${turn} ${from.y}V${to.y}H${to.x - radius}`;
  return s("path", { class: `sx-edge is-${kind}`, d: path });
}

/**
 * The base model's own next token, above the end of the accepted path.
 * @param {View} view
 * @param {Grid} grid
 * @param {SVGElement} edges
 * @param {SVGElement} marks
 */
export function drawBonus(view, grid, edges, marks) {
  const { step, shape } = view;
  if (step.bonus === null) return;
  const end = step.accepted.at(-1) ?? 0;
  const from = grid.at(end);
  const to = grid.spot({ column: shape.depths[end] + 1, line: -1 });
  const turn = to.x - (showsProbabilities(grid) ? WIDE_TURN : BONUS_TURN) * grid.unit;
  edges.append(
    s("path", {
      class: "sx-edge is-bonus",
      d: `M${from.x} ${from.y}H${turn}V${to.y}H${to.x - 5 * grid.unit}`,
    }),
  );
  const label = view.token(step.bonus, grid.limit);
  marks.append(
    s(
      "g",
      {
        class: "sx-node is-bonus",
        role: "treeitem",
        "aria-level": shape.depths[end] + 2,
        "aria-label": `bonus token ${label}, the next step's root`,
      },
      shapeOf("bonus", to.x, to.y, 4.5 * grid.unit),
      s("text", { class: "sx-token", x: to.x + 9 * grid.unit, y: to.y + 3.8 * grid.unit }, label),
    ),
  );
}

/**
 * The shape shows the verdict as well as the colour does.
 * @param {string} kind
 * @param {number} x
 * @param {number} y
 * @param {number} r
 */
function shapeOf(kind, x, y, r) {
  if (kind === "root" || kind === "bonus") {
    return s("rect", { class: "sx-mark", x: x - r, y: y - r, width: 2 * r, height: 2 * r });
  }
  if (kind === "pruned") {
    return s("path", {
      class: "sx-mark",
      d: `M${x - r} ${y}L${x} ${y - r}L${x + r} ${y}L${x} ${y + r}Z`,
    });
  }
  return s("circle", { class: "sx-mark", cx: x, cy: y, r });
}

/**
 * @param {View} view
 * @param {number} row
 * @param {string} kind
 */
function spoken(view, row, kind) {
  const status = kind in SIGNS ? `, ${view.meaning(row)}` : "";
  if (row === 0) return `${view.label(row)}, root`;
  const guess = probability(view.step.draft_probs[row]);
  const base = probability(view.step.base_probs[row]);
  return `${view.label(row)}${status}, guessed with ${guess}, base model ${base}`;
}
