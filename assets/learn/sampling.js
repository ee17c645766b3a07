// Speculative sampling over a few tokens, by numbers alone: p is the base model's distribution, q
// the drafter's. The same rule as explorer/decoding/acceptance.py (Leviathan et al. 2023, 2.3).

/**
 * @typedef {() => number} Random uniform in [0, 1)
 * @typedef {"drawn" | "top"} Candidates "drawn" from q, or q's "top" token every time
 * @typedef {object} Outcome
 * @property {number[]} accepted how often each token was an accepted candidate
 * @property {number[]} resampled how often each was drawn from the residual
 * @property {number} draws
 */

/**
 * A generator with a seed: the same one gives the same draws (mulberry32).
 * @param {number} seed
 * @returns {Random}
 */
export function seeded(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** @param {number[]} values */
export const sum = (values) => values.reduce((total, value) => total + value, 0);

/**
 * Weights that sum to 1; all zero stays as it is.
 * @param {number[]} weights
 */
export function normalised(weights) {
  const total = sum(weights);
  return total > 0 ? weights.map((weight) => weight / total) : weights;
}

/**
 * A token drawn from a distribution by a uniform number, never one of probability 0.
 * @param {number[]} probs
 * @param {number} uniform
 */
export function draw(probs, uniform) {
  const wanted = uniform * sum(probs);
  let reached = 0;
  let last = 0;
  for (const [token, p] of probs.entries()) {
    if (p <= 0) continue;
    reached += p;
    last = token;
    if (reached > wanted) return token;
  }
  return last; // rounding
}

/**
 * min(1, p/q); where q is 0, which no draw gives, whether p is not.
 * @param {number} p
 * @param {number} q
 */
export const acceptProbability = (p, q) => (q > 0 ? Math.min(1, p / q) : Number(p > 0));

/**
 * norm(max(0, p − q)). It is empty only if p = q, when nothing is rejected but by rounding: then p.
 * @param {number[]} p
 * @param {number[]} q
 */
export function residual(p, q) {
  const owed = p.map((value, token) => Math.max(0, value - q[token]));
  return sum(owed) > 0 ? normalised(owed) : p;
}

/**
 * How often a candidate drawn from q is accepted: Σ min(p, q).
 * @param {number[]} p
 * @param {number[]} q
 */
export const overlap = (p, q) => sum(p.map((value, token) => Math.min(value, q[token])));

/**
 * What a step writes in the long run. With drawn candidates p; with the top one, for which
 * min(1, p/q) was not made, something else.
 * @param {number[]} p
 * @param {number[]} q
 * @param {Candidates} candidates
 */
export function written(p, q, candidates) {
  const rest = residual(p, q);
  const offered = candidates === "drawn" ? q : q.map((_, token) => Number(token === best(q)));
  const taken = offered.map((share, token) => share * acceptProbability(p[token], q[token]));
  const rejected = 1 - sum(taken);
  return rest.map((value, token) => taken[token] + rejected * value);
}

/** The likeliest token. @param {number[]} probs */
export const best = (probs) => probs.indexOf(Math.max(...probs));

/**
 * Draw so many tokens.
 * @param {number[]} p
 * @param {number[]} q
 * @param {{ draws: number, seed: number, candidates: Candidates }} how
 * @returns {Outcome}
 */
export function simulate(p, q, { draws, seed, candidates }) {
  const random = seeded(seed);
  const rest = residual(p, q);
  const top = best(q);
  const accepted = p.map(() => 0);
  const resampled = p.map(() => 0);
  for (let i = 0; i < draws; i++) {
    const candidate = candidates === "drawn" ? draw(q, random()) : top;
    if (random() < acceptProbability(p[candidate], q[candidate])) accepted[candidate] += 1;
    else resampled[draw(rest, random())] += 1;
  }
  return { accepted, resampled, draws };
}

/**
 * Pearson's χ² of counts against expected probabilities, and how often chance alone gives as much.
 * Tokens expected fewer than 5 times are counted together, as the test needs; one that is never
 * expected and came all the same makes χ² infinite.
 * @param {number[]} counts
 * @param {number[]} probs
 */
export function chiSquare(counts, probs) {
  const draws = sum(counts);
  const cells = pooled(counts, probs, draws);
  const value = sum(cells.map(([seen, due]) => (due > 0 ? (seen - due) ** 2 / due : Infinity)));
  const freedom = Math.max(0, cells.length - 1);
  return { value, freedom, chance: freedom ? upperTail(value, freedom) : 1 };
}

/**
 * @param {number[]} counts
 * @param {number[]} probs
 * @param {number} draws
 */
function pooled(counts, probs, draws) {
  /** @type {[seen: number, due: number][]} */
  const cells = [];
  const rare = /** @type {[number, number]} */ ([0, 0]);
  counts.forEach((seen, token) => {
    const due = draws * probs[token];
    if (due >= 5) cells.push([seen, due]);
    else {
      rare[0] += seen;
      rare[1] += due;
    }
  });
  if (rare[0] || rare[1]) cells.push(rare);
  return cells;
}

/**
 * P(χ² ≥ value): the regularised upper incomplete gamma function Q(freedom/2, value/2), by its
 * series or its continued fraction (Numerical Recipes, section 6.2).
 * @param {number} value
 * @param {number} freedom
 */
export function upperTail(value, freedom) {
  const [a, x] = [freedom / 2, value / 2];
  if (x <= 0) return 1;
  if (x === Infinity) return 0;
  const scale = Math.exp(a * Math.log(x) - x - logGamma(a));
  return x < a + 1 ? 1 - scale * series(a, x) : scale * fraction(a, x);
}

/**
 * @param {number} a
 * @param {number} x
 */
function series(a, x) {
  let term = 1 / a;
  let total = term;
  for (let n = a + 1; term > 1e-15 * total; n++) {
    term *= x / n;
    total += term;
  }
  return total;
}

/**
 * @param {number} a
 * @param {number} x
 */
function fraction(a, x) {
  let b = x + 1 - a;
  let c = 1e300;
  let d = 1 / b;
  let value = d;
  for (let i = 1; i < 1000; i++) {
    const an = -i * (i - a);
    b += 2;
    d = 1 / (an * d + b);
    c = b + an / c;
    value *= d * c;
    if (Math.abs(d * c - 1) < 1e-14) break;
  }
  return value;
}

/**
 * ln Γ of a multiple of ½ above 0, down to Γ(1) or Γ(½).
 * @param {number} a
 */
function logGamma(a) {
  let value = Number.isInteger(a) ? 0 : Math.log(Math.PI) / 2;
  for (let n = a - 1; n > 0; n--) value += Math.log(n);
  return value;
}

/**
 * One token's probability is set, the others keep their proportions.
 * @param {number[]} probs
 * @param {number} token
 * @param {number} wanted
 */
export function withProbability(probs, token, wanted) {
  const value = Math.min(1, Math.max(0, wanted));
  const others = 1 - probs[token];
  return probs.map((p, i) => {
    if (i === token) return value;
    return others > 1e-12 ? (p / others) * (1 - value) : (1 - value) / (probs.length - 1);
  });
}

/**
 * Softmax without and with its maximum taken out: exp overflows beyond 709 in 64 bits.
 * @param {number[]} logits
 */
export function softmaxes(logits) {
  const most = Math.max(...logits);
  const shares = (/** @type {number[]} */ powers) => powers.map((power) => power / sum(powers));
  return {
    naive: shares(logits.map((logit) => Math.exp(logit))),
    stable: shares(logits.map((logit) => Math.exp(logit - most))),
  };
}
