// Why a node was accepted, rejected or never reached: sentences with numbers, as plain text.

import { count, milliseconds, ordinal, plural, probability } from "./numbers.js";
import { visible } from "./text.js";
import { stepMs } from "./trace.js";

/**
 * @import { Trace } from "./trace.js"
 * @import { TopTokens } from "../../types/records.js"
 */

/** @type {Record<string, string>} */
export const SIGNS = { root: "■", accepted: "●", rejected: "○", pruned: "◇", bonus: "□" };
/** @type {Record<string, string>} */
export const MEANINGS = {
  root: "root",
  accepted: "accepted",
  rejected: "rejected",
  pruned: "never reached",
  bonus: "bonus",
};

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
    const top = this.step.draft_top?.[row] ?? this.heads[depth - 1];
    return [drafter(this.trace, depth), top];
  }

  get rows() {
    return this.step.token_ids.length;
  }

  /**
   * @param {number} id
   * @param {number} limit
   */
  token(id, limit = 40) {
    return visible(this.trace.piece(id), limit);
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
  return `${view.label(row)} · depth ${depth} · ${rank} guess of ${drafter(view.trace, depth)}`;
}

/**
 * The verdict on a row, one idea a sentence.
 * @param {View} view
 * @param {number} row
 */
export function sentences(view, row) {
  const verdict = view.step.verdicts[row];
  if (verdict === "root") return rootSentences(view);
  const told = [guess(view, row)];
  if (verdict === "pruned") return [...told, pruned(view, row)];
  return view.step.base_top.length ? [...told, judgement(view, row)] : told;
}

/**
 * What a step did, in one sentence.
 * @param {View} view
 */
export function stepSentence(view) {
  const { step } = view;
  if (step.base_top.length === 0) return "The root ended the run, so nothing had to be verified.";
  const drafts = Math.max(0, step.emitted.length - 1);
  const kept = drafts === 0 ? "no draft" : plural(drafts, "draft");
  const pass = `One pass over ${plural(view.rows, "row")} accepted ${kept}`;
  return `${pass}: ${plural(step.emitted.length, "token")} gained.`;
}

/**
 * The six stages of a step, each with one sentence for a class.
 * @param {View} view
 * @returns {[name: string, sentence: string][]}
 */
export function stages(view) {
  const { step, rows } = view;
  const nodes = plural(rows - 1, "node");
  const deepest = Math.max(...view.shape.depths);
  const kept = Math.max(0, step.emitted.length - 1);
  const root = quoted(view.label(0, 20));
  const bonus = step.bonus === null ? null : quoted(view.token(step.bonus, 20));
  const vanish = count(rows - step.emitted.length);
  const cache = `${plural(step.emitted.length, "row")} of the cache stay, ${vanish} vanish`;
  const time = milliseconds(stepMs(step));
  return [
    ["Draft", `The base model has already chosen ${root}. ${guessing(view.trace, deepest)}`],
    [
      "Tree",
      `Their best guesses combine to a tree of ${nodes}; a node at depth d is a guess for the d-th token after the root.`,
    ],
    [
      "Mask",
      `All ${plural(rows, "row")} go through the model at once. Each row may see the prefix, its ancestors and itself.`,
    ],
    [
      "Verify",
      `One pass of ${milliseconds(step.timings.verify)} ms tells what the base model itself would say after each row.`,
    ],
    [
      "Accept",
      kept
        ? `Going down from the root, ${plural(kept, "guess", "guesses")} held: the accepted path.`
        : "No guess held, so only the root counts.",
    ],
    ["Commit", `${cache}${bonus ? `; ${bonus} is the next root` : ""}. The step took ${time} ms.`],
  ];
}

/**
 * @param {Trace} trace
 * @param {number} deepest
 */
function guessing(trace, deepest) {
  if (deepest === 0) return "This step has no draft.";
  const who = drafter(trace, 1);
  if (who !== "head 1") return `${capital(who)} guesses what follows.`;
  return deepest === 1
    ? "From the same hidden state a head guesses what follows."
    : `From the same hidden state ${count(deepest)} heads guess what follows.`;
}

/** @param {View} view */
function rootSentences(view) {
  const position = count(view.step.context_length);
  const told = [
    `The base model had already chosen ${quoted(view.label(0))} for position ${position}, so the root is always emitted.`,
  ];
  if (view.step.base_top.length === 0) told.push("It ended the run: no verify pass was needed.");
  return told;
}

/**
 * @param {View} view
 * @param {number} row
 */
function guess(view, row) {
  const [depth, rank] = [view.shape.depths[row], view.shape.ranks[row]];
  const which = rank === 0 ? "" : `, its ${ordinal(rank + 1)} guess`;
  const sure = probability(view.step.draft_probs[row]);
  const who = capital(drafter(view.trace, depth));
  return `${who} guessed ${quoted(view.label(row))} with ${sure}${which}.`;
}

/**
 * @param {View} view
 * @param {number} row
 */
function pruned(view, row) {
  const fallen = view.line(row).find((above) => view.step.verdicts[above] === "rejected");
  if (fallen === undefined) return "It was never reached: the path ended before it.";
  const depth = view.shape.depths[fallen];
  return `It was never reached: ${quoted(view.label(fallen))} at depth ${depth} was rejected, and everything below falls with it.`;
}

/**
 * @param {View} view
 * @param {number} row
 */
function judgement(view, row) {
  const accepted = view.step.verdicts[row] === "accepted";
  const { rule } = view.trace;
  if (rule === "typical") return typical(view, row, accepted);
  return rule === "sample" ? sampled(view, row, accepted) : greedy(view, row, accepted);
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

/**
 * @param {View} view
 * @param {number} row
 */
function held(view, row) {
  const { base_probs: probs, base_ranks: ranks } = view.step;
  return `${quoted(view.label(row))} had ${probability(probs[row])}, rank ${count(ranks[row] + 1)}`;
}

/**
 * @param {View} view
 * @param {number} row
 */
function outcome(view, row) {
  const siblings = view.shape.children[view.shape.parents[row]];
  const taken = siblings.some((sibling) => view.step.verdicts[sibling] === "accepted");
  return taken ? "so a sibling was taken instead" : "so the path stops above it";
}

/**
 * @param {View} view
 * @param {number} row
 * @param {boolean} accepted
 */
function greedy(view, row, accepted) {
  if (accepted) {
    const sure = probability(view.step.base_probs[row]);
    return `It is the base model's own first choice there (${sure}), so greedy acceptance takes it.`;
  }
  return `Greedy acceptance asks for the base model's first choice, ${wanted(view, row)}; ${held(view, row)}, ${outcome(view, row)}.`;
}

/**
 * @param {View} view
 * @param {number} row
 * @param {boolean} accepted
 */
function sampled(view, row, accepted) {
  if (accepted) {
    const had = probability(view.step.base_probs[row]);
    return `The token drawn from the base model's distribution is the same (it had ${had}), so the path follows it.`;
  }
  return `The token drawn from the base model's distribution was ${wanted(view, row)}; ${held(view, row)}, ${outcome(view, row)}.`;
}

/**
 * @param {View} view
 * @param {number} row
 * @param {boolean} accepted
 */
function typical(view, row, accepted) {
  const { thresholds, base_probs: probs } = view.step;
  const bar = thresholds ? ` ${probability(thresholds[row])}` : " its threshold";
  const has = `The base model gives it ${probability(probs[row])}`;
  if (accepted) return `${has}, above${bar}: typical acceptance takes it (lossy).`;
  if (thresholds && probs[row] > thresholds[row]) {
    return `${has}, above${bar}, but a longer or likelier path won.`;
  }
  return `${has}, not above${bar}, ${outcome(view, row)}.`;
}
