// Whether a record is a trace: the checks of explorer/records/schema.py that the views rely on.

import { NODES, STEPS } from "./reasons.js";
import { MAX_ATTENTION } from "./trace.js";

const MAX_ROWS = 513;
export const MAX_STEPS = 4_096; // of a run, each of which writes a token
const MAX_MILLISECONDS = 1e12;
const MAX_TOP = 16;
const MAX_SLOTS = 128;
const VERDICTS = new Set(["root", "accepted", "rejected", "pruned"]);

/**
 * @typedef {any} Unknown what JSON.parse gave: nothing is known of it before these checks
 * @typedef {(value: Unknown, index?: number) => boolean} Check
 */

/** @type {Check} */
const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
/** @type {Check} */
const isNone = (value) => value === null || value === undefined;
/** @type {Check} */
const isCount = (value) => Number.isSafeInteger(value) && value >= 0;
/** @type {Check} */
const isShare = (value) => Number.isFinite(value) && value >= 0 && value <= 1;
/** @type {Check} */
const isAmount = (value) => Number.isFinite(value) && value >= 0;
/** @type {Check} */
const isTime = (value) => isAmount(value) && value <= MAX_MILLISECONDS;
/** @type {Check} */
const isText = (value) => typeof value === "string";
/** @type {(value: Unknown, check: Check, most?: number) => boolean} */
const listOf = (value, check, most = Infinity) =>
  Array.isArray(value) && value.length <= most && value.every(check);

/**
 * Where the record first fails, in words; null for a valid trace.
 * @param {Unknown} record
 */
export function firstFault(record) {
  return (
    piecesFault(record.pieces) ?? laneFault(record) ?? rivalFault(record) ?? attentionFault(record)
  );
}

/**
 * Whether a lane has more steps than a run has, which is seen before any of them is checked.
 * @param {Unknown} record
 */
export const isTooLong = ({ steps, rival }) =>
  [steps, rival?.steps].some((lane) => Array.isArray(lane) && lane.length > MAX_STEPS);

/** @param {Unknown} lane */
const laneFault = (lane) =>
  headerFault(lane.header) ?? treesFault(lane.trees) ?? stepsFault(lane.steps, lane.trees);

/** @param {Unknown} record */
function rivalFault({ header, rival = null }) {
  if (rival === null) return null;
  if (!isObject(rival)) return "rival";
  const fault = laneFault(rival);
  if (fault) return `rival.${fault}`;
  const same = rival.header.prompt_ids.join() === header.prompt_ids.join();
  return same ? null : "rival.header.prompt_ids";
}

/** @param {Unknown} header */
function headerFault(header) {
  if (!isObject(header)) return "header is missing";
  const texts = ["created", "explorer_version", "model", "backend", "device", "prompt"];
  const wrong = texts.find((name) => !isText(header[name]));
  if (wrong) return `header.${wrong}`;
  if (!listOf(header.prompt_ids, isCount)) return "header.prompt_ids";
  const continued = header.continued_tokens ?? 0;
  if (!isCount(continued) || continued > header.prompt_ids.length) return "header.continued_tokens";
  if (!listOf(header.eos_ids, isCount)) return "header.eos_ids";
  if (!isTime(header.prefill_ms)) return "header.prefill_ms";
  const { settings } = header;
  if (!isObject(settings) || !isText(settings.method) || !isText(settings.tree)) {
    return "header.settings";
  }
  if (!isText(settings.acceptance) || !isAmount(settings.temperature)) return "header.settings";
  const shown = header.shown ?? null;
  if (shown !== null && !(isObject(shown) && isText(shown.title) && isText(shown.drafter))) {
    return "header.shown";
  }
  const position = header.prompt_position;
  return position === null || isPosition(position) ? null : "header.prompt_position";
}

/** @param {Unknown} pieces */
function piecesFault(pieces) {
  if (!isObject(pieces)) return "pieces is missing";
  const wrong = Object.entries(pieces).find(
    ([id, piece]) =>
      !/^\d+$/.test(id) ||
      !isObject(piece) ||
      !(piece.text === null || isText(piece.text)) ||
      !((piece.bytes ?? null) === null || isText(piece.bytes)) ||
      !((piece.label ?? null) === null || isText(piece.label)),
  );
  return wrong ? `pieces.${wrong[0].slice(0, 20)}` : null;
}

/** @param {Unknown} trees */
function treesFault(trees) {
  if (!Array.isArray(trees)) return "trees is missing";
  const at = trees.findIndex((/** @type {Unknown} */ tree) => !isTree(tree));
  return at < 0 ? null : `trees.${at}`;
}

/**
 * Every path's parent stands before it, and none is repeated.
 * @param {Unknown} tree
 */
function isTree(tree) {
  if (!isObject(tree) || !isText(tree.name)) return false;
  if (!listOf(tree.paths, (path) => listOf(path, isCount) && path.length > 0, MAX_ROWS - 1)) {
    return false;
  }
  const seen = new Set([""]);
  return tree.paths.every((/** @type {number[]} */ path) => {
    const key = path.join();
    const fits = !seen.has(key) && seen.has(path.slice(0, -1).join());
    seen.add(key);
    return fits;
  });
}

/**
 * @param {Unknown} steps
 * @param {Unknown} trees
 */
function stepsFault(steps, trees) {
  if (!Array.isArray(steps)) return "steps";
  for (const [i, step] of steps.entries()) {
    const fault = isObject(step) ? stepFault(step, trees) : "not a record";
    if (fault) return `steps.${i}.${fault}`;
  }
  return null;
}

/**
 * @param {Unknown} step
 * @param {Unknown} trees
 */
function stepFault(step, trees) {
  if (!isCount(step.index) || !isCount(step.context_length)) return "index";
  if (!trees[step.tree]) return "tree names a tree that is not there";
  const n = trees[step.tree].paths.length + 1;
  /** @type {(value: Unknown, check: Check) => boolean} */
  const long = (value, check) => listOf(value, check) && value.length === n;
  if (!long(step.token_ids, isCount)) return "token_ids does not fit its tree";
  for (const name of ["draft_probs", "joint_probs", "base_probs"]) {
    if (!long(step[name], isShare)) return name;
  }
  if (!long(step.base_ranks, isCount)) return "base_ranks";
  if (!long(step.verdicts, (verdict) => VERDICTS.has(verdict))) return "verdicts";
  if (!Array.isArray(step.base_top) || !Array.isArray(step.choices)) return "base_top";
  const passed = step.base_top.length > 0;
  if (passed && !(long(step.base_top, isTop) && step.choices.length === n)) return "base_top";
  if (!listOf(step.choices, (id) => id === -1 || isCount(id))) return "choices";
  const thresholds = step.thresholds ?? null;
  if (thresholds !== null && !long(thresholds, isShare)) return "thresholds";
  const trials = step.trials ?? null;
  if (trials !== null && !listOf(trials, (one) => isTrial(one) && one.row < n)) return "trials";
  const residual = step.residual ?? null;
  if (residual !== null && !isTop(residual)) return "residual";
  const reasons = step.reasons ?? null;
  if (reasons !== null && !long(reasons, (code) => code in NODES)) return "reasons";
  const stages = step.stages ?? null;
  if (stages !== null && !(listOf(stages, (code) => code in STEPS) && stages.length === 7))
    return "stages";
  const offered = step.draft_top ?? null;
  if (offered !== null && !long(offered, isTop)) return "draft_top";
  const unpaid = ["price", "promise"].find((name) => !(isNone(step[name]) || isTime(step[name])));
  if (unpaid) return unpaid;
  if (!(isNone(step.floor) || isFloor(step.floor))) return "floor";
  const over = step.over_floor ?? null;
  if (over !== null && !isAmount(over)) return "over_floor";
  /** @type {Check} */
  const isRow = (row) => isCount(row) && row < n;
  if (!listOf(step.accepted, isRow) || step.accepted.length === 0) return "accepted";
  if (!listOf(step.emitted, isCount) || step.emitted.length > step.accepted.length)
    return "emitted";
  if (!(step.bonus === null || isCount(step.bonus))) return "bonus";
  if (!(isNone(step.bonus_prob) || isShare(step.bonus_prob))) return "bonus_prob";
  if (!(isNone(step.lookahead) || isLookahead(step.lookahead))) return "lookahead";
  if (!listOf(step.positions, isPosition)) return "positions";
  const times = ["heads", "draft", "verify", "accept", "commit"];
  return isObject(step.timings) && times.every((name) => isTime(step.timings[name]))
    ? null
    : "timings";
}

/** @param {Unknown} record */
function attentionFault({ attention = [], steps, trees }) {
  if (!Array.isArray(attention) || attention.length > MAX_ATTENTION) return "attention";
  const at = attention.findIndex(
    (/** @type {Unknown} */ head) =>
      !isObject(head) || !isCount(head.step) || !fitsStep(head, steps[head.step], trees),
  );
  return at < 0 ? null : `attention.${at}`;
}

/**
 * Whether a head's weights are as many as its step's rows need; see explorer/records/attention.py.
 * @param {Unknown} head
 * @param {Unknown} step
 * @param {Unknown} trees
 */
function fitsStep({ layer, head: number, layers, heads, slots, weights }, step, trees) {
  if (!step || ![layer, number, layers, heads].every(isCount) || layer >= layers || number >= heads)
    return false;
  /** @type {Check} */
  const isSlot = (slot, i = 0) =>
    isCount(slot) && slot < step.context_length && (i === 0 ? slot === 0 : slot > slots[i - 1]);
  if (!listOf(slots, isSlot, MAX_SLOTS) || slots.length === 0) return false;
  const values = [[], ...trees[step.tree].paths].reduce(
    (sum, path) => sum + 2 + slots.length + path.length,
    0,
  );
  return (
    isText(weights) &&
    weights.length === 4 * Math.ceil((2 * values) / 3) &&
    /^[A-Za-z0-9+/]*={0,2}$/.test(weights)
  );
}

/** @type {Check} */
const isLookahead = (state) =>
  isObject(state) &&
  [state.window, state.guesses].every((rows) => listOf(rows, (row) => listOf(row, isCount))) &&
  isCount(state.pool_size);

/** @type {Check} */
const isFloor = (floor) =>
  isObject(floor) &&
  isCount(floor.bytes) &&
  isTime(floor.milliseconds) &&
  (isNone(floor.arithmetic_ms) || isTime(floor.arithmetic_ms));

/** @type {Check} */
const isTrial = (trial) =>
  isObject(trial) &&
  isCount(trial.row) &&
  ["p", "q", "chance", "coin"].every((name) => isShare(trial[name]));

/** @type {Check} */
const isTop = (top) =>
  isObject(top) &&
  listOf(top.ids, isCount, MAX_TOP) &&
  listOf(top.probs, isShare, MAX_TOP) &&
  top.ids.length === top.probs.length;

/** @type {Check} */
const isPosition = (position) =>
  isObject(position) &&
  isCount(position.index) &&
  isCount(position.base_choice) &&
  listOf(position.heads, isTop, MAX_TOP);
