// From the server's compact events to a trace: the counterpart of explorer/ui/wire.py.
// Probabilities travel as millionths, a piece is sent once, verdicts are letters.

/**
 * @import { Trace } from "./trace.js"
 * @import { Step, TopTokens } from "../../types/records.js"
 * @import { PackedPieces, PackedPosition, PackedStep, PackedTop, Verdict, WireEvent } from "../../types/page.js"
 */

/**
 * @template {unknown[]} E
 * @typedef {E extends [any, ...infer R] ? R : never} Rest what an event holds besides its kind
 */

/** @type {Record<string, Verdict>} */
const VERDICTS = { o: "root", a: "accepted", r: "rejected", p: "pruned" };
const MILLION = 1_000_000;

/**
 * Add one event to a trace.
 * @param {Trace} trace
 * @param {WireEvent} event
 */
export function take(trace, [kind, ...rest]) {
  /** @type {Record<string, (trace: Trace, ...rest: any[]) => void>} */
  const kinds = KINDS;
  kinds[kind](trace, ...rest);
}

/** @satisfies {{ [K in WireEvent as K[0]]: (trace: Trace, ...rest: Rest<K>) => void }} */
const KINDS = {
  run(trace, lane, header, pieces) {
    addPieces(trace, pieces);
    trace.lane(lane).start(header);
  },
  step(trace, lane, packed, pieces, trees) {
    addPieces(trace, pieces);
    trees.forEach((tree) => trace.lane(lane).addTree(tree));
    trace.lane(lane).addStep(stepOf(packed));
  },
  positions(trace, lane, packed, pieces) {
    addPieces(trace, pieces);
    trace.lane(lane).addPositions(packed.map(positionOf));
  },
};

/**
 * @param {Trace} trace
 * @param {PackedPieces} pieces
 */
function addPieces(trace, pieces) {
  for (let i = 0; i < pieces.length; i += 2) {
    const written = pieces[i + 1];
    const [label, text, bytes = null] = Array.isArray(written)
      ? written
      : [String(written), String(written)];
    trace.addPiece(Number(pieces[i]), { text, bytes, label });
  }
}

/** @param {number[]} values */
const share = (values) => values.map((value) => value / MILLION);

/**
 * @param {PackedStep} packed
 * @returns {Step}
 */
function stepOf(packed) {
  return {
    index: packed.i,
    context_length: packed.c,
    tree: packed.t,
    token_ids: packed.id,
    draft_probs: share(packed.d),
    joint_probs: share(packed.j),
    base_probs: share(packed.b),
    base_ranks: packed.r,
    choices: packed.w,
    thresholds: packed.h && share(packed.h),
    verdicts: [...packed.v].map((letter) => VERDICTS[letter]),
    base_top: topsOf(packed.ti, packed.tp, packed.k),
    accepted: packed.a,
    emitted: packed.e,
    bonus: packed.n,
    bonus_prob: packed.np === null ? null : packed.np / MILLION,
    positions: packed.p.map(positionOf),
    draft_top: packed.o?.map(topOf) ?? null,
    price: packed.pr ?? null,
    promise: packed.pm ?? null,
    trials: packed.y?.map(trialOf) ?? null,
    residual: packed.z ? topOf(packed.z) : null,
    reasons: packed.u ? codesOf(packed.u) : null,
    stages: packed.s ?? null,
    lookahead: packed.l,
    floor: floorOf(packed.f ?? null),
    over_floor: packed.fx ?? null,
    timings: timingsOf(packed.ms),
  };
}

/** @param {[codes: string[], rows: number[]]} packed */
const codesOf = ([codes, rows]) => rows.map((i) => codes[i]);

/** @param {number[]} packed */
function trialOf([row, ...shares]) {
  const [p, q, chance, coin] = share(shares);
  return { row, p, q, chance, coin };
}

/** @param {number[]} ms */
function timingsOf(ms) {
  const [heads, draft, verify, accept, commit, record] = ms;
  return { heads, draft, verify, accept, commit, record };
}

/**
 * @param {number[]} ids
 * @param {number[]} probs
 * @param {number} width
 */
function topsOf(ids, probs, width) {
  /** @type {TopTokens[]} */
  const tops = [];
  for (let i = 0; i < ids.length; i += width) {
    tops.push({ ids: ids.slice(i, i + width), probs: share(probs.slice(i, i + width)) });
  }
  return tops;
}

/** @param {[number, number, number | null] | null} packed */
const floorOf = (packed) =>
  packed && { bytes: packed[0], milliseconds: packed[1], arithmetic_ms: packed[2] };

/** @param {PackedPosition} packed */
function positionOf([index, base_choice, ...heads]) {
  return { index, base_choice, heads: heads.map(topOf) };
}

/** @param {PackedTop} packed */
const topOf = ([ids, probs]) => ({ ids, probs: share(probs) });
