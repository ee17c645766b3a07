// How many tokens ahead of the base model some head had each token of a reply. Counted as
// explorer/analysis/foresight.py counts it; a test compares the two.

/** @import { Lane } from "./trace.js" */

/**
 * @typedef {object} Known a head that had a token
 * @property {number} head from 1
 * @property {number} rank of the token among its guesses, from 0
 * @property {number} probability
 * @property {number} position whose hidden state it read, counted from the prompt's first token
 */

const MAX_HEADS = 16;

/**
 * The heads that had a token of the reply among their recorded guesses, the nearest first.
 * @param {Lane} lane
 * @param {number} index of the token among the new ones
 * @returns {Known[]}
 */
export function knownBy(lane, index) {
  const at = (lane.header?.prompt_ids.length ?? 0) + index;
  const { id } = lane.tokens[index];
  const found = [];
  for (let head = 1; head <= MAX_HEADS; head += 1) {
    const position = at - 1 - head;
    const guesses = lane.headsAt(position)[head - 1];
    const rank = guesses ? guesses.ids.indexOf(id) : -1;
    if (rank >= 0) found.push({ head, rank, probability: guesses.probs[rank], position });
  }
  return found;
}

/**
 * How many tokens ahead one of the first `heads` heads had it among its `top` best; 0: none had.
 * @param {Known[]} known
 * @param {number} top
 * @param {number} heads
 */
export const tokensAhead = (known, top, heads = MAX_HEADS) =>
  Math.max(
    0,
    ...known.filter((one) => one.rank < top && one.head <= heads).map(({ head }) => head),
  );
