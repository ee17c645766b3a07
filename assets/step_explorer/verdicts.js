// Why a node was accepted, rejected or never reached, and what a step did: the sentences of the
// record's codes (explorer/records/sentences.py) with the record's figures, as plain text.

import { count, milliseconds, ordinal, plural, probability } from "./numbers.js";
import { GUESSED, GUESSES, NODES, STEPS } from "./reasons.js";
import { COINS_STAGE } from "./store.js";
import { shortened } from "./text.js";
import { stepMs } from "./times.js";
import { extraRows } from "./trace.js";

/**
 * @import { Trace } from "./trace.js"
 * @import { TopTokens } from "../../types/records.js"
 */

/** @type {Record<string, string>} */
export const SIGNS = { root: "■", accepted: "●", rejected: "○", pruned: "◇", bonus: "□" };
/** Of traces that were saved before steps had codes. */
const OLD_STEP = ["step", "draft", "tree", "mask", "verify", "accept", "commit"];
const STAGES = ["Draft", "Tree", "Mask", "Verify", "Accept", "Commit"];

/** A step of a trace with words for its tokens. */
export class View {
  /**
   * @param {Trace} trace
   * @param {number} index
   */
  constructor(trace, index) {
    this.trace = trace;
    this.index = index;
    this.step = trace.steps[index];
    this.shape = trace.shape(this.step);
    this.heads = trace.headsBefore(this.step);
  }

  /**
   * What was offered below a row, best first: [words for who offered it, the list].
   * @param {number} row
   * @returns {[string, TopTokens | undefined]}
   */
  offeredBelow(row) {
    const depth = this.shape.depths[row] + 1;
    const heads = byHeads(this.trace) ? this.heads[depth - 1] : undefined;
    return [drafter(this.trace, depth), this.step.draft_top?.[row] ?? heads];
  }

  /**
   * What was offered for the first tokens after the root, and by whom: by Medusa heads at once; by
   * heads that see their path, along their best guesses.
   * @returns {[string, TopTokens | undefined][]}
   */
  drafting() {
    const { children, depths } = this.shape;
    if (!this.step.draft_top) {
      return byHeads(this.trace)
        ? this.heads.slice(0, 4).map((top, i) => [drafter(this.trace, i + 1), top])
        : [];
    }
    /** @type {[string, TopTokens | undefined][]} */
    const lists = [];
    for (let row = 0; row !== undefined && depths[row] < 4; [row] = children[row])
      lists.push(this.offeredBelow(row));
    return lists;
  }

  /** Rows of the tree, the root included. */
  get rows() {
    return this.step.token_ids.length;
  }

  /** Rows of a lookahead window, in the same pass; its corner is the root. */
  get extraRows() {
    return extraRows(this.step);
  }

  /** The code of a row's verdict. @param {number} row */
  code(row) {
    return this.step.reasons?.[row] ?? this.step.verdicts[row];
  }

  /**
   * How a row is drawn: one that held behind the end of the text is as little text as a pruned one.
   * @param {number} row
   */
  kind(row) {
    const { accepted, emitted, verdicts } = this.step;
    return accepted.indexOf(row) >= emitted.length ? "pruned" : verdicts[row];
  }

  /** What became of a row, in two or three words. @param {number} row */
  meaning(row) {
    return NODES[this.code(row)]?.[0] ?? "";
  }

  /**
   * @param {number} id
   * @param {number} limit
   */
  token(id, limit = 40) {
    return shortened(this.trace.piece(id).label, limit);
  }

  /**
   * @param {number} row
   * @param {number} limit
   */
  label(row, limit = 40) {
    return this.token(this.step.token_ids[row], limit);
  }

  /** @param {number} row */
  line(row) {
    return this.trace.line(this.step, row);
  }

  /** The row that says most: the first rejected one, else the end of the accepted path. */
  get tellingRow() {
    const rejected = this.step.verdicts.indexOf("rejected");
    return rejected >= 0 ? rejected : (this.step.accepted.at(-1) ?? 0);
  }
}

/**
 * Who guesses at a depth.
 * @param {Pick<Trace, "header">} trace
 * @param {number} depth
 */
export function drafter(trace, depth) {
  const method = trace.header?.settings.method ?? "medusa";
  // Traces from before they said it.
  const before = ["medusa", "hydra"].includes(method) ? "head {depth}" : `the ${method} drafter`;
  return (trace.header?.shown?.drafter ?? before).replace("{depth}", String(depth));
}

/**
 * Whether heads draft, so that what they guessed is what was offered. Any trace may carry guesses of
 * heads, for replaying other trees.
 * @param {Pick<Trace, "header">} trace
 */
function byHeads({ header }) {
  const method = header?.settings.method ?? "medusa";
  return header?.shown?.by_heads ?? ["medusa", "hydra"].includes(method);
}

/** @param {string} text */
const capital = (text) => text[0].toUpperCase() + text.slice(1);
/** @param {string} text */
const quoted = (text) => `‘${text}’`;

/**
 * @param {View} view
 * @param {number} row
 */
export function nodeTitle(view, row) {
  if (row === 0) return `${view.label(row)} · root`;
  const depth = view.shape.depths[row];
  const rank = ordinal(view.shape.ranks[row] + 1);
  const what = stepCodes(view)[1].endsWith("-drawn") ? "draw" : "guess";
  return `${view.label(row)} · depth ${depth} · ${rank} ${what} of ${drafter(view.trace, depth)}`;
}

/** @type {Record<string, string>} "p = over 0.99" as a sign. */
const COMPARED = { "≈": "≈", over: ">", under: "<" };

/**
 * A sentence with figures in its places.
 * @param {string} sentence
 * @param {Record<string, string | (() => string)>} places
 */
const filled = (sentence, places) =>
  sentence
    .replace(/\{(\w+)\}/g, (_, name) => {
      const place = places[name];
      return typeof place === "function" ? place() : place;
    })
    .replace(/= (≈|over|under) /g, (_, sign) => `${COMPARED[sign]} `);

/**
 * The verdict on a row, one idea a sentence.
 * @param {View} view
 * @param {number} row
 */
export function sentences(view, row) {
  const [, why] = NODES[view.code(row)] ?? ["", ""];
  const because = filled(why, nodePlaces(view, row));
  if (row === 0) return [because];
  const judged = view.step.base_top.length ? [because] : [];
  return [guess(view, row), ...judged, ...untruncated(view, row)];
}

/**
 * @param {View} view
 * @param {number} row
 */
function guess(view, row) {
  const [depth, rank] = [view.shape.depths[row], view.shape.ranks[row]];
  return filled(GUESSES[stepCodes(view)[1]] ?? GUESSED, {
    who: capital(drafter(view.trace, depth)),
    token: quoted(view.label(row)),
    p: probability(view.step.draft_probs[row]),
    which: rank === 0 ? "" : `, its ${ordinal(rank + 1)} guess`,
  });
}

/**
 * Typical acceptance and top-p or top-k: which of the two probabilities is meant.
 * @param {View} view
 * @param {number} row
 */
function untruncated(view, row) {
  const { top_p: topP, top_k: topK } = view.trace.header?.settings ?? { top_p: 1, top_k: 0 };
  const tested = view.code(row).startsWith("typical");
  return tested && (topP < 1 || topK > 0) ? ["Top-p and top-k do not count in this test."] : [];
}

/**
 * @param {View} view
 * @param {number} row
 */
function nodePlaces(view, row) {
  const { step, shape } = view;
  const trial = () => step.trials?.find((one) => one.row === row);
  const above = () => view.line(row).find((one) => one > 0 && !step.accepted.includes(one)) ?? 0;
  const share = (/** @type {"p" | "q" | "chance" | "coin"} */ name) => () =>
    probability(trial()?.[name] ?? 0);
  return {
    token: quoted(view.label(row)),
    position: count(step.context_length),
    p: trial() ? share("p") : probability(step.base_probs[row]),
    rank: count(step.base_ranks[row] + 1),
    wanted: () => wanted(view, row),
    bar: step.thresholds ? probability(step.thresholds[row]) : "its threshold",
    q: share("q"),
    chance: share("chance"),
    coin: share("coin"),
    above: () => quoted(view.label(above())),
    depth: () => String(shape.depths[above()]),
  };
}

/**
 * What the rule wanted in the row's place, with its probability where it is known.
 * @param {View} view
 * @param {number} row
 */
function wanted(view, row) {
  const parent = view.shape.parents[row];
  const id = view.step.choices[parent];
  const top = view.step.base_top[parent];
  const at = top.ids.indexOf(id);
  return quoted(view.token(id)) + (at < 0 ? "" : ` (${probability(top.probs[at])})`);
}

/** @param {View} view */
const stepCodes = (view) => view.step.stages ?? OLD_STEP;

/**
 * What a step did, in one sentence.
 * @param {View} view
 */
export const stepSentence = (view) => filled(STEPS[stepCodes(view)[0]], stepPlaces(view));

/**
 * The stages of a step, each with one sentence for a class: six, and the coins of rejection sampling.
 * @param {View} view
 * @returns {[at: number, name: string, sentence: string][]} `at`: the store's number of the stage
 */
export function stages(view) {
  const places = stepPlaces(view);
  /** @type {[number, string, string][]} */
  const described = STAGES.map((name, i) => [
    i,
    name,
    filled(STEPS[stepCodes(view)[i + 1]], places),
  ]);
  if (view.step.trials?.length) described.push([COINS_STAGE, "Coins", STEPS.coins]);
  return described.sort(([one], [other]) => one - other);
}

/**
 * Where a stage stands among a step's: a step without coins is at the stage before them.
 * @param {View} view
 * @param {number} stage
 */
export const placeOf = (view, stage) => stages(view).findLastIndex(([at]) => at <= stage);

/** @param {View} view */
function stepPlaces(view) {
  const { step, rows, extraRows: extra } = view;
  const kept = step.accepted.length - 1;
  const deepest = Math.max(...view.shape.depths);
  return {
    root: quoted(view.label(0, 20)),
    bonus: step.bonus === null ? "nothing" : quoted(view.token(step.bonus, 20)),
    who: drafter(view.trace, 1),
    heads: deepest === 1 ? "a head" : `${count(deepest)} heads`,
    nodes: plural(rows - 1, "node"),
    rows: plural(rows + extra, "row"),
    extra: count(extra),
    kept: kept ? plural(kept, "guess", "guesses") : "no guess",
    held: plural(kept, "guess", "guesses"),
    tried: plural(step.trials?.length ?? 0, "guess", "guesses"),
    gained: plural(step.emitted.length, "token"),
    stay: plural(step.accepted.length, "row"),
    vanish: count(rows + extra - step.accepted.length),
    ms: milliseconds(step.timings.verify),
    total: milliseconds(stepMs(step)),
  };
}
