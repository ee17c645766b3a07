// The sentences of a record's codes. Written by tools/page_reasons.py from
// explorer/records/sentences.py: change that, then run it again.

/** @type {Record<string, [label: string, why: string]>} */
export const NODES = {
  "root": [
    "root",
    "The base model had already chosen {token} for position {position}, so the root is always emitted."
  ],
  "root-last": [
    "root",
    "The base model had already chosen {token} for position {position}. It ended the run: no verify pass was needed."
  ],
  "greedy": [
    "accepted",
    "It is the base model's own first choice there ({p}), so greedy acceptance takes it."
  ],
  "greedy-sibling": [
    "rejected",
    "Greedy acceptance asks for the base model's first choice, {wanted}; {token} had {p}, rank {rank}, so a sibling was taken instead."
  ],
  "greedy-end": [
    "rejected",
    "Greedy acceptance asks for the base model's first choice, {wanted}; {token} had {p}, rank {rank}, so the path stops above it."
  ],
  "draw": [
    "accepted",
    "The token drawn from the base model's distribution is the same (it had {p}), so the path follows it."
  ],
  "draw-sibling": [
    "rejected",
    "The token drawn from the base model's distribution was {wanted}; {token} had {p}, rank {rank}, so a sibling was taken instead."
  ],
  "draw-end": [
    "rejected",
    "The token drawn from the base model's distribution was {wanted}; {token} had {p}, rank {rank}, so the path stops above it."
  ],
  "trial": [
    "accepted",
    "The base model gave it p = {p} just then, the drafter q = {q}, so the chance was min(1, p/q) = {chance}. The coin fell on {coin}, below it: accepted."
  ],
  "trial-sibling": [
    "rejected",
    "The base model gave it p = {p} just then, the drafter q = {q}, so the chance was min(1, p/q) = {chance}. The coin fell on {coin}: rejected. The next sibling was judged by what was left of p, norm(max(0, p − q))."
  ],
  "trial-end": [
    "rejected",
    "The base model gave it p = {p} just then, the drafter q = {q}, so the chance was min(1, p/q) = {chance}. The coin fell on {coin}: rejected. The next token was drawn from what was left of p, norm(max(0, p − q))."
  ],
  "untried": [
    "not tried",
    "It was not tried: a sibling before it was accepted."
  ],
  "filling": [
    "not tried",
    "It was not tried: the drafter had nothing more to draw from, and this only fills the tree."
  ],
  "typical": [
    "accepted",
    "The base model gives it {p}, above {bar}: typical acceptance takes it (lossy)."
  ],
  "typical-sibling": [
    "rejected",
    "The base model gives it {p}, not above {bar}, so a sibling was taken instead."
  ],
  "typical-end": [
    "rejected",
    "The base model gives it {p}, not above {bar}, so the path stops above it."
  ],
  "typical-lost": [
    "on a path that lost",
    "The base model gives it {p}, above {bar}, but a longer or likelier path won."
  ],
  "typical-lost-end": [
    "on a path that lost",
    "The base model gives it {p}, not above {bar}; a longer or likelier path won in any case."
  ],
  "past-end": [
    "past the end",
    "It held as well, but the text had ended with a token before it, so it never became text."
  ],
  "below": [
    "never reached",
    "It was never reached: {above} at depth {depth} was not accepted, and everything below falls with it."
  ],
  "accepted": [
    "accepted",
    "It was accepted. This trace was saved before traces said why."
  ],
  "rejected": [
    "rejected",
    "It was not accepted. This trace was saved before traces said why."
  ],
  "pruned": [
    "never reached",
    "A node above it was not accepted, so it could not become text."
  ]
};

/** @type {string} */
export const GUESSED = "{who} guessed {token} with {p}{which}.";

/** @type {Record<string, string>} */
export const GUESSES = {
  "draft-medusa-drawn": "{who} drew {token} from its distribution, where it had q = {p}.",
  "draft-model-drawn": "{who} drew {token} from its distribution, where it had q = {p}.",
  "draft-copied": "{who} offered {token}{which}."
};

/** @type {Record<string, string>} */
export const STEPS = {
  "step": "One pass over {rows}: {kept} accepted, {gained} gained.",
  "step-window": "One pass over {rows}, {extra} of them the lookahead window's: {kept} accepted, {gained} gained.",
  "step-cut": "One pass over {rows}: {kept} accepted, and the text ended before all of it was written: {gained} gained.",
  "step-window-cut": "One pass over {rows}, {extra} of them the lookahead window's: {kept} accepted, and the text ended before all of it was written: {gained} gained.",
  "step-bare": "No draft in this step: one pass over {rows}, {gained} gained.",
  "step-last": "Last token: it was already known, so there was nothing to check.",
  "draft": "The base model has already chosen {root}. Then came the guesses.",
  "draft-none": "The base model has already chosen {root}. There is no draft in this step.",
  "draft-unpaid": "The base model has already chosen {root}. No guess was worth its row, so there is no draft in this step.",
  "draft-medusa": "The base model has already chosen {root}. From the hidden state that chose it, {heads} guess what follows, each without knowing the others' guesses.",
  "draft-medusa-drawn": "The base model has already chosen {root}. From the hidden state that chose it, {heads} give a distribution q each, and the guesses are drawn from them.",
  "draft-hydra": "The base model has already chosen {root}. {heads} guess what follows, one after the other: each reads the guesses before its own.",
  "draft-model": "The base model has already chosen {root}. The draft model writes on from it, one likeliest token after the other.",
  "draft-model-drawn": "The base model has already chosen {root}. The draft model writes on from it, each token a draw from its own distribution q.",
  "draft-copied": "The base model has already chosen {root}. What to expect after it is copied from {who}.",
  "tree": "The guesses make a tree of {nodes}; a node at depth d is a guess for the d-th token after the root.",
  "tree-chain": "The guesses make a chain of {nodes}; the node at depth d is the guess for the d-th token after the root.",
  "tree-bare": "The tree is the root alone.",
  "mask": "All {rows} go through the model at once. Each row may see the text so far, its ancestors and itself, so that branches do not see each other.",
  "mask-window": "All {rows} go through the model at once, {extra} of them the lookahead window's. A row of the tree may see the text so far, its ancestors and itself, so that branches do not see each other.",
  "mask-bare": "One row goes through the model. It sees the text so far and itself.",
  "mask-last": "Nothing goes through the model.",
  "verify": "One pass of {ms} ms gives what the base model itself would say after each row.",
  "verify-last": "No verify pass was needed: the text ends with this token.",
  "coins": "A guess is drawn with probability q and kept if its coin is below min(1, p/q), where p is the base model's. After a refusal the next is tried against what is left, max(0, p − q); the text stays distributed as p.",
  "accept": "Going down from the root, {held} held: the accepted path.",
  "accept-none": "No guess held, so only the root counts.",
  "accept-bare": "There was no guess to judge, so only the root counts.",
  "accept-trials": "{tried} were tried, each with a coin of its own, and {held} accepted.",
  "commit": "The cache keeps {stay} and discards {vanish}; {bonus} is the next root. The step took {total} ms.",
  "commit-last": "The step took {total} ms, and the run ended with it."
};
