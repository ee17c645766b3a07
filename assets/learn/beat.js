// Beat the heads: how guesses are judged, by numbers alone.

/**
 * @typedef {{ name: string, text: string, p: number | null }} Option p: null where it is not among the five likeliest
 * @typedef {{ options: Option[], true: number, head: number, sure: number, least: number, bar: number }} Slot
 *   true, head: numbers of options; least: what every option without p is below
 * @typedef {{ greedy: number, sample: number, typical: number }} Score
 */

/**
 * Accepted guesses under the three rules: greedy and typical count, sample expects.
 * @param {Slot[]} slots
 * @param {(number | null)[]} guesses numbers of options; null: something else
 * @returns {Score}
 */
export function scored(slots, guesses) {
  const score = { greedy: 0, sample: 0, typical: 0 };
  let reached = 1;
  for (const [i, slot] of slots.entries()) {
    const guess = guesses[i] ?? null;
    const p = guess === null ? 0 : (slot.options[guess].p ?? 0);
    reached *= p;
    score.sample += reached;
    score.typical += Number(p > slot.bar);
    if (guess !== slot.true) break; // nothing is recorded of what would follow
    score.greedy += 1;
  }
  return score;
}

/**
 * The guesses of a round, one question after the other; the first wrong one ends it, as it ends a
 * step: pieces that follow the text's own token do not follow another one. An answer to a question that is not asked
 * any more, because its button was pressed twice, changes nothing.
 * @param {Slot[]} slots
 */
export function guessing(slots) {
  /** @type {(number | null)[]} */
  const guesses = [];
  const wrong = (/** @type {number | null} */ guess, /** @type {number} */ i) =>
    guess !== slots[i].true;
  const over = () => guesses.length >= slots.length || guesses.some(wrong);
  const answer = (/** @type {number} */ asked, /** @type {(number | null)[]} */ given) => {
    const counts = !over() && asked === guesses.length;
    if (counts) for (const guess of given) if (!over()) guesses.push(guess);
    return counts;
  };
  return { guesses, over, answer };
}

/**
 * Tokens of a typed text, by the pieces on offer; where none fits, null and no more.
 * @param {string} typed
 * @param {Slot[]} slots
 */
export function typedGuesses(typed, slots) {
  /** @type {(number | null)[]} */
  const guesses = [];
  let left = typed;
  for (const { options, true: right } of slots) {
    if (!left) break;
    const order = [right, ...options.keys()]; // of two that fit the text's own
    const found = order.find((number) => begins(left, options[number].text, guesses.length === 0));
    if (found === undefined) return [...guesses, null];
    left = rest(left, options[found].text);
    guesses.push(found);
  }
  return guesses;
}

/**
 * Whether a text begins with a piece; a space before the first word need not be typed.
 * @param {string} text
 * @param {string} piece
 * @param {boolean} first
 */
function begins(text, piece, first) {
  if (!piece) return false;
  if (text.startsWith(piece)) return true;
  const word = piece.trimStart();
  return first && word !== "" && text.startsWith(word);
}

/**
 * @param {string} text
 * @param {string} piece
 */
const rest = (text, piece) =>
  text.slice(text.startsWith(piece) ? piece.length : piece.trimStart().length);
