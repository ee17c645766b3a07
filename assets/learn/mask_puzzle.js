// What is wrong with a mask that somebody built, in sentences. Needs no page.

/**
 * @typedef {object} Puzzle
 * @property {string} name
 * @property {string[]} tokens of the rows
 * @property {number[]} parents
 * @property {number} prefix tokens in the cache
 * @property {number[][]} mask per row the rows that it sees
 * @property {number[]} positions
 */

/**
 * @typedef {{ row: number, column: number | null, says: string }} Mistake
 */

/**
 * The mistakes of a mask and of positions, row by row.
 * @param {Puzzle} puzzle
 * @param {boolean[][]} seen
 * @param {number[]} positions
 * @returns {Mistake[]}
 */
export function mistakes(puzzle, seen, positions) {
  const name = (/** @type {number} */ row) => `‘${puzzle.tokens[row]}’ (row ${row})`;
  return puzzle.mask.flatMap((right, row) => {
    const cells = seen[row].flatMap((sees, column) => {
      if (sees === right.includes(column)) return [];
      return [{ row, column, says: why(puzzle, row, column, sees, name) }];
    });
    if (positions[row] === puzzle.positions[row]) return cells;
    const says = `${name(row)} stands at position ${puzzle.positions[row]}: ${puzzle.prefix} tokens before the root, and depth ${puzzle.positions[row] - puzzle.prefix}.`;
    return [...cells, { row, column: null, says }];
  });
}

/**
 * @param {Puzzle} puzzle
 * @param {number} row
 * @param {number} column
 * @param {boolean} sees
 * @param {(row: number) => string} name
 */
function why({ parents, mask }, row, column, sees, name) {
  if (!sees && column === row) return `${name(row)} must see itself.`;
  if (!sees) return `${name(row)} must see its ancestor ${name(column)}.`;
  if (mask[column].includes(row))
    return `${name(row)} must not see ${name(column)}, which comes after it.`;
  if (parents[column] === parents[row])
    return `${name(row)} must not see its sibling ${name(column)}: only one of them can come true.`;
  return `${name(row)} must not see ${name(column)}, which lies on another path.`;
}
