// The race of a class: the heads as they are just then against plain decoding, timed.

/**
 * @import { Tools } from "./kit.js"
 * @import { Class, Frame } from "./training.js"
 * @typedef {{ heads: number, plain: number, tokens_per_step: number, speedup: number,
 *   half_width: number | null, words: string, tokens: number, identical: boolean }} Race as
 *   explorer/lab/taught.py measures it
 */

/**
 * The heads' speed over plain decoding's, which is 1.
 * @param {Class} lesson
 * @param {Frame[]} races
 */
export const speedLines = ({ seconds: end }, races) => [
  {
    name: "plain",
    kind: "quiet",
    points: /** @type {[number, number][]} */ ([
      [0, 1],
      [end, 1],
    ]),
  },
  {
    name: "with heads",
    kind: "own",
    points: races.map(
      ({ seconds, race }) => /** @type {[number, number]} */ ([seconds, race?.speedup ?? 0]),
    ),
  },
];

/**
 * The race of a look in a sentence.
 * @param {Race} race
 * @param {Tools} tools
 */
export function said(race, { numbers }) {
  const within = race.half_width === null ? "" : ` ± ${numbers.ratio(race.half_width)}`;
  const text = race.identical ? "Both wrote the same text." : "The texts differ.";
  return `Race, timed between two updates: ${numbers.plural(race.tokens, "token")} at ${numbers.rate(race.heads)} tokens/s with these heads and ${numbers.rate(race.plain)} without: ${numbers.ratio(race.speedup)}×${within}, ${race.words}. ${text}`;
}
