// The verdict on the selected node in words, what the head and the base model thought, and all
// nodes as a table.

import { card } from "./card.js";
import { button, h, Marked, replace, rowOf } from "./dom.js";
import { count, inColumn } from "./numbers.js";
import { ACCEPT_STAGE, COINS_STAGE } from "./store.js";
import { trialTable } from "./trials.js";
import { nodeTitle, placeOf, SIGNS, sentences, stages } from "./verdicts.js";

/**
 * @import { Explorer } from "./main.js"
 * @import { View } from "./verdicts.js"
 * @import { TopTokens } from "../../types/records.js"
 */

const SHOWN = 5; // of each list

/** @param {Explorer} app */
export function verdictView(app) {
  const toggle = button("table", "All nodes as a table (t)", () =>
    app.store.set({ table: !app.state.table }),
  );
  const { element } = card("verdict", "Why?", "", toggle);
  const body = element.appendChild(
    h("div", {
      class: "sx-verdict-body",
      tabindex: 0,
      role: "region",
      "aria-label": "Verdict on the selected node",
      "aria-live": "off",
    }),
  );
  const [lit, focused] = [new Marked("is-line"), new Marked("is-focus")];
  const listeners = {
    onclick: (/** @type {Event} */ { target }) => {
      const row = rowOf(target);
      if (row !== null) app.select(row);
    },
    onpointerover: (/** @type {Event} */ { target }) => app.store.set({ hover: rowOf(target) }),
    onpointerleave: () => app.store.set({ hover: null }),
  };
  /** @type {HTMLElement[]} */
  let rows = [];

  function draw() {
    rows = [];
    if (!app.view)
      return replace(
        body,
        h(
          "p",
          { class: "sx-soft" },
          "Choose a node to read why it was accepted, rejected or never reached.",
        ),
      );
    if (app.state.stage < ACCEPT_STAGE) return replace(body, ...staged(app.view, app.state.stage));
    if (app.state.table) return replace(body, table(app.view));
    return replace(body, ...verdict(app.view, app.focusRow));
  }

  /** @param {View} view */
  function table(view) {
    const heads = ["", "token", "verdict", "depth", "rank", "draft", "path", "base", "base rank"];
    const typical = view.step.thresholds !== null && view.step.thresholds !== undefined;
    if (typical) heads.push("threshold");
    rows = Array.from({ length: view.rows }, (_, row) => {
      const cells = tableRow(view, row, typical);
      return h(
        "tr",
        { "data-row": row },
        ...cells.map((text, i) => h(i === 1 ? "th" : "td", i === 1 ? { scope: "row" } : {}, text)),
      );
    });
    mark();
    return h(
      "table",
      { class: "sx-table", ...listeners },
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          ...heads.map((head) =>
            h("th", { scope: "col" }, head || h("span", { class: "sx-unseen" }, "sign")),
          ),
        ),
      ),
      h("tbody", {}, ...rows),
    );
  }

  function mark() {
    lit.set(app.focusLine.map((row) => rows[row]));
    focused.set(rows.slice(app.focusRow, app.focusRow + 1));
    const chosen = rows[app.row];
    if (chosen && app.state.hover === null) app.store.afterwards(() => keepInSight(body, chosen));
  }

  app.store.subscribe((any) => {
    toggle.setAttribute("aria-pressed", String(app.state.table));
    if (
      any("trace", "step", "table", "stage", "grown") &&
      (any("trace", "step", "table", "stage") || !app.view)
    )
      draw();
    else if (any("row", "hover")) app.state.table && rows.length ? mark() : draw();
  });
  draw();
  return element;
}

/**
 * In the first stages there is no verdict yet: only what was guessed, or wanted.
 * @param {View} view
 * @param {number} stage
 */
function staged(view, stage) {
  const sentence = h("p", {}, stages(view)[placeOf(view, stage)][2]);
  if (stage === COINS_STAGE && view.step.trials)
    return [sentence, trialTable(view), leftOver(view)];
  if (stage !== 0 && stage !== 3) return [sentence];
  const lists =
    stage === 0
      ? view.drafting().map(([who, top]) => topList(who, top, null, view))
      : [topList("base model after the root", view.step.base_top[0], null, view)];
  return [sentence, h("div", { class: "sx-tops" }, ...lists)];
}

/**
 * @param {View} view
 * @param {number} row
 */
function verdict(view, row) {
  const lines = sentences(view, row).map((sentence) => h("p", {}, sentence));
  const kind = view.kind(row);
  const words = h(
    "div",
    { class: `sx-why is-${kind}` },
    h("h3", {}, `${SIGNS[kind]} ${nodeTitle(view, row)}`),
    ...lines,
  );
  if (row === 0) {
    const first = topList("base model, top 5, after the root", view.step.base_top[0], null, view);
    const left = topList("what was left of p, top 5", view.step.residual, view.step.bonus, view);
    return [words, h("div", { class: "sx-tops" }, first, left, windowTable(view))];
  }
  const parent = view.shape.parents[row];
  const token = view.step.token_ids[row];
  const [who, offered] = view.offeredBelow(parent);
  return [
    words,
    h(
      "div",
      { class: "sx-tops" },
      topList(`${who}, top 5`, offered, token, view),
      topList("base model, top 5", view.step.base_top[parent], token, view),
      view.code(row) === "trial-end"
        ? topList("what was left of p, top 5", view.step.residual, view.step.bonus, view)
        : null,
    ),
  ];
}

/**
 * What the next token is drawn from after a refusal.
 * @param {View} view
 */
const leftOver = (view) =>
  h(
    "div",
    { class: "sx-tops" },
    topList("what is left of p, top 5", view.step.residual, view.step.bonus, view),
  );

/**
 * @param {string} title
 * @param {TopTokens | null | undefined} top
 * @param {number | null} held
 * @param {View} view
 */
function topList(title, top, held, view) {
  if (!top || top.ids.length === 0) return null;
  const rows = top.ids.slice(0, SHOWN).map((id, i) => {
    const share = Math.round(100 * top.probs[i]);
    return h(
      "tr",
      { class: id === held ? "is-held" : null },
      h("td", {}, view.token(id, 12)),
      h("td", {}, h("i", { style: `width:${share}%` }), inColumn(top.probs[i])),
    );
  });
  return h("table", {}, h("caption", {}, title), h("tbody", {}, ...rows));
}

/**
 * The window of lookahead decoding, whose rows are computed with the tree's: a column reads like
 * text and ends an n-gram.
 * @param {View} view
 */
function windowTable(view) {
  const levels = view.step.lookahead?.window ?? [];
  if (levels.length === 0) return null;
  const rows = levels.map((level) =>
    h("tr", {}, ...level.map((id) => h("td", {}, view.token(id, 12)))),
  );
  return h(
    "table",
    {},
    h(
      "caption",
      {},
      `lookahead window, ${view.extraRows} rows beside the tree's, oldest guesses first`,
    ),
    h("tbody", {}, ...rows),
  );
}

/**
 * @param {View} view
 * @param {number} row
 * @param {boolean} typical
 */
function tableRow(view, row, typical) {
  const { step, shape } = view;
  const drafted = row > 0;
  const cells = [
    SIGNS[view.kind(row)],
    view.label(row, 14),
    view.meaning(row),
    String(shape.depths[row]),
    drafted ? String(shape.ranks[row] + 1) : "",
    drafted ? inColumn(step.draft_probs[row]) : "",
    drafted ? inColumn(step.joint_probs[row]) : "",
    inColumn(step.base_probs[row]),
    count(step.base_ranks[row] + 1),
  ];
  if (typical) cells.push(drafted ? inColumn(step.thresholds?.[row] ?? 0) : "");
  return cells;
}

/**
 * @param {Element} box
 * @param {Element} element
 */
function keepInSight(box, element) {
  const [outer, inner] = [box.getBoundingClientRect(), element.getBoundingClientRect()];
  if (inner.top < outer.top + 20) box.scrollTop -= outer.top + 20 - inner.top;
  else if (inner.bottom > outer.bottom) box.scrollTop += inner.bottom - outer.bottom;
}
