// The three acceptance rules on a recorded step: what explorer/decoding/acceptance.py does, by numbers.

/**
 * @typedef {{ name: string, parent: number, depth: number, p: number, first: boolean, sure: number | null }} Row
 *   p: the base model's, at the parent's row; first: its likeliest; sure: exp(−H) below the row, null: unknown
 * @typedef {{ step: number, rows: Row[], wanted: { name: string, p: number, row: number | null }[], path: number[] }} RecordedStep
 * @typedef {"greedy" | "sample" | "typical"} Rule
 * @typedef {"root" | "accepted" | "likely" | "unlikely" | "below the bar" | "on a lesser path"
 *   | "not the first choice" | "never reached"} Fate
 */

/**
 * What a child of this row must exceed: min(ε, √ε · exp(−H)). Exact for ε up to the recorded one.
 * @param {Row} row
 * @param {number} epsilon
 */
export const bar = ({ sure }, epsilon) =>
  sure === null ? epsilon : Math.min(epsilon, Math.sqrt(epsilon) * sure);

/**
 * How likely each row is accepted: 1 or 0 but with "sample", which draws.
 * @param {Row[]} rows
 * @param {Rule} rule
 * @param {number} epsilon
 */
export function chances(rows, rule, epsilon) {
  if (rule === "typical") return onPath(rows, typicalPath(rows, epsilon));
  /** @type {number[]} */
  const reached = [];
  for (const [i, { parent, p, first }] of rows.entries())
    reached[i] = i === 0 ? 1 : reached[parent] * (rule === "sample" ? p : Number(first));
  return reached;
}

/**
 * The longest path whose rows all clear their bars; of equal ones the likeliest.
 * @param {Row[]} rows
 * @param {number} epsilon
 */
export function typicalPath(rows, epsilon) {
  const reached = new Map([[0, 0]]); // row → log-likelihood of its path
  let last = 0;
  rows.forEach(({ parent, p, depth }, row) => {
    const before = reached.get(parent);
    if (row === 0 || before === undefined || p <= bar(rows[parent], epsilon)) return;
    const likely = before + Math.log(p);
    reached.set(row, likely);
    const [deepest, best] = [rows[last].depth, reached.get(last) ?? 0];
    if (depth > deepest || (depth === deepest && likely > best)) last = row;
  });
  return lineTo(rows, last);
}

const LIKELY = 0.1; // accepted at least so often, with the rule that draws

/**
 * What becomes of each row. A row below one that was not reached is not judged, whatever its p:
 * the text would never come there.
 * @param {Row[]} rows
 * @param {number[]} accepted how likely each row is accepted
 * @param {Rule} rule
 * @param {number} epsilon
 * @returns {Fate[]}
 */
export function fates(rows, accepted, rule, epsilon) {
  const clears = rows.map(
    ({ parent, p, first }, row) =>
      row === 0 || (rule === "greedy" ? first : p > bar(rows[parent], epsilon)),
  );
  return rows.map(({ parent }, row) => {
    if (row === 0) return "root";
    if (rule === "sample") return accepted[row] > LIKELY ? "likely" : "unlikely";
    if (accepted[row] > 0) return "accepted";
    if (!lineTo(rows, parent).every((above) => clears[above])) return "never reached";
    if (clears[row]) return "on a lesser path";
    return rule === "greedy" ? "not the first choice" : "below the bar";
  });
}

/**
 * @param {Row[]} rows
 * @param {number} row
 */
function lineTo(rows, row) {
  const line = [];
  for (let at = row; at >= 0; at = rows[at].parent) line.unshift(at);
  return line;
}

/**
 * @param {Row[]} rows
 * @param {number[]} path
 */
const onPath = (rows, path) => rows.map((_, row) => Number(path.includes(row)));

/**
 * Expected accepted drafts: Σ over the nodes of the chance that the node is accepted.
 * @param {number[]} accepted
 */
export const expectedAccepted = (accepted) =>
  accepted.slice(1).reduce((total, chance) => total + chance, 0);

/**
 * How often a rule writes each likely token after the root; the rest of p comes last.
 * @param {RecordedStep} step
 * @param {Rule} rule
 * @param {number} epsilon
 */
export function nextTokens({ rows, wanted }, rule, epsilon) {
  const p = wanted.map((one) => one.p);
  const rest = Math.max(0, 1 - p.reduce((total, value) => total + value, 0));
  const all = [...p, rest];
  if (rule === "sample") return all;
  if (rule === "greedy") return all.map((_, i) => Number(i === 0)); // best first
  const child = typicalPath(rows, epsilon)[1];
  if (child === undefined) return all; // nothing accepted: the token is drawn from p
  const at = wanted.findIndex(({ row }) => row === child);
  return all.map((_, i) => Number(i === (at < 0 ? wanted.length : at)));
}
