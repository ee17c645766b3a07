// Build a tree-attention mask by hand, row by row, and have it checked.

import { mistakes } from "./mask_puzzle.js";

/**
 * @import { Tools } from "./kit.js"
 * @import { Mistake, Puzzle } from "./mask_puzzle.js"
 */

const SHOWN = 3; // mistakes that are named at a time

/**
 * @param {Puzzle[]} puzzles
 * @param {Tools} tools
 * @param {boolean} last whether it begins with the last puzzle
 */
export function builder(puzzles, tools, last) {
  const first = puzzles[last ? puzzles.length - 1 : 0];
  const place = tools.h("div", {});
  const open = (/** @type {string} */ name) => {
    const puzzle = puzzles.find((one) => one.name === name) ?? puzzles[0];
    place.replaceChildren(board(puzzle, tools));
  };
  const chosen = tools.choice(
    "Tree",
    puzzles.map(({ name }) => [name, name]),
    first.name,
    open,
  );
  open(first.name);
  return tools.h("div", { class: "lx-card" }, chosen.element, place);
}

/**
 * @param {Puzzle} puzzle
 * @param {Tools} tools
 */
function board(puzzle, { h }) {
  const rows = puzzle.tokens.map((_, row) => row);
  const seen = rows.map(() => rows.map(() => false));
  const positions = rows.map((row) => puzzle.prefix + row);
  const said = h("div", { class: "lx-said-list", role: "status" });
  const cells = rows.map((row) =>
    rows.map((column) =>
      h("button", {
        type: "button",
        class: "lx-cell",
        "aria-pressed": "false",
        "aria-label": `Row ${row}, ${puzzle.tokens[row]}, sees row ${column}, ${puzzle.tokens[column]}`,
        onclick: () => put(row, column, !seen[row][column]),
        onkeydown: (/** @type {KeyboardEvent} */ event) => step(event, row, column),
      }),
    ),
  );
  const inputs = rows.map((row) =>
    h("input", {
      type: "number",
      class: "lx-position",
      value: positions[row],
      "aria-label": `Position of row ${row}, ${puzzle.tokens[row]}`,
      oninput: () => {
        positions[row] = Number(inputs[row].value);
        inputs[row].classList.remove("is-wrong");
      },
    }),
  );
  /** @param {number} row @param {number} column @param {boolean} sees */
  function put(row, column, sees) {
    seen[row][column] = sees;
    const cell = cells[row][column];
    cell.setAttribute("aria-pressed", String(sees));
    cell.classList.remove("is-wrong");
  }
  /** @param {KeyboardEvent} event @param {number} row @param {number} column */
  function step(event, row, column) {
    const by = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[
      event.key
    ];
    const next = by && cells[row + by[0]]?.[column + by[1]];
    if (!by) return;
    event.preventDefault();
    next?.focus();
  }
  const check = () => {
    const found = mistakes(puzzle, seen, positions);
    mark(cells, inputs, found);
    said.replaceChildren(...verdict(found).map((text) => h("p", {}, text)));
  };
  const show = () => {
    for (const row of rows) {
      for (const column of rows) put(row, column, puzzle.mask[row].includes(column));
      positions[row] = puzzle.positions[row];
      inputs[row].value = String(positions[row]);
    }
    check();
  };
  const clear = () => {
    for (const row of rows) for (const column of rows) put(row, column, false);
    mark(cells, inputs, []);
    said.replaceChildren();
  };
  const button = (/** @type {string} */ text, /** @type {() => unknown} */ onclick) =>
    h("button", { type: "button", onclick }, text);
  return h(
    "div",
    {},
    h(
      "p",
      { class: "lx-note" },
      "Click the columns that each row may see, and set its position. All see the prefix.",
    ),
    grid(puzzle, cells, inputs, h),
    h(
      "div",
      { class: "lx-buttons" },
      button("Check", check),
      button("Show me", show),
      button("Clear", clear),
    ),
    said,
  );
}

/**
 * @param {HTMLElement[][]} cells
 * @param {HTMLElement[]} inputs
 * @param {Mistake[]} found
 */
function mark(cells, inputs, found) {
  for (const cell of [...cells.flat(), ...inputs]) cell.classList.remove("is-wrong");
  for (const { row, column } of found)
    (column === null ? inputs[row] : cells[row][column]).classList.add("is-wrong");
}

/** @param {Mistake[]} found */
function verdict(found) {
  if (!found.length) return ["Right: each row sees its own path, and siblings share a position."];
  const more = found.length - SHOWN;
  return [
    ...found.slice(0, SHOWN).map(({ says }) => says),
    ...(more > 0 ? [`And ${more} more.`] : []),
  ];
}

/**
 * @param {Puzzle} puzzle
 * @param {HTMLElement[][]} cells
 * @param {HTMLElement[]} inputs
 * @param {Tools["h"]} h
 */
function grid({ tokens, parents, prefix }, cells, inputs, h) {
  const parent = (/** @type {number} */ row) =>
    parents[row] < 0 ? "root" : `${parents[row]} ${tokens[parents[row]]}`;
  return h(
    "div",
    { class: "lx-board" },
    h(
      "table",
      {},
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          h("th", {}, "row"),
          h("th", {}, "below"),
          ...tokens.map((token, column) =>
            h("th", { class: "lx-mono", title: `row ${column}` }, token),
          ),
          h("th", {}, `position, after a prefix of ${prefix}`),
        ),
      ),
      h(
        "tbody",
        {},
        ...tokens.map((token, row) =>
          h(
            "tr",
            {},
            h("th", { class: "lx-mono" }, `${row} ${token}`),
            h("td", { class: "lx-mono" }, parent(row)),
            ...cells[row].map((cell) => h("td", {}, cell)),
            h("td", {}, inputs[row]),
          ),
        ),
      ),
    ),
  );
}
