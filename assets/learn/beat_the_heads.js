// Beat the heads: pick or type the next pieces of a recorded text, then see who had more.

import { readable } from "../step_explorer/text.js";
import { guessing, scored, typedGuesses } from "./beat.js";

/**
 * @import { Tools } from "./kit.js"
 * @import { Score, Slot } from "./beat.js"
 * @typedef {{ run: string, step: number, prompt: string, text: string, slots: Slot[] }} Round
 * @typedef {{ texts: { name: string, rounds: Round[] }[] }} Data
 * @typedef {{ you: Score, heads: Score, model: Score }} Scores
 */

/** @type {[keyof Scores, string][]} */
const PLAYERS = [
  ["you", "you"],
  ["heads", "heads 1–4"],
  ["model", "the base model’s own text"],
];
/** @type {(keyof Score)[]} */
const RULES = ["greedy", "sample", "typical"];

/** @param {HTMLElement} place @param {Data} data @param {Tools} tools */
export function mount(place, data, tools) {
  const { h, choice } = tools;
  const state = { text: data.texts[0], round: 0, played: 0, total: nothing() };
  const game = h("div", {});
  const board = h("div", {});
  const begin = () => {
    const round = state.text.rounds[state.round];
    game.replaceChildren(
      roundView(round, tools, {
        number: `${state.round + 1} of ${state.text.rounds.length}`,
        done: (scores) => {
          state.played += 1;
          for (const [who] of PLAYERS)
            for (const rule of RULES) state.total[who][rule] += scores[who][rule];
          board.replaceChildren(scoreTable(state.total, state.played, tools));
        },
        next: () => {
          state.round = (state.round + 1) % state.text.rounds.length;
          begin();
        },
      }),
    );
  };
  const texts = choice(
    "Text",
    data.texts.map(({ name }) => [name, name]),
    state.text.name,
    (name) => {
      state.text = data.texts.find((one) => one.name === name) ?? data.texts[0];
      state.round = 0;
      begin();
    },
  );
  place.append(h("div", { class: "lx-card" }, texts.element, game), board);
  begin();
}

/** @returns {Scores} */
const nothing = () => {
  const none = () => ({ greedy: 0, sample: 0, typical: 0 });
  return { you: none(), heads: none(), model: none() };
};

/**
 * @param {Round} round
 * @param {Tools} tools
 * @param {{ number: string, done: (scores: Scores) => void, next: () => void }} given
 */
function roundView({ run, prompt, text, slots, step }, tools, { number, done, next }) {
  const { h } = tools;
  const { guesses, over, answer: answered } = guessing(slots);
  const [written, ask] = [h("span", { class: "lx-guessed" }), h("div", { "aria-live": "polite" })];
  const element = h(
    "div",
    {},
    h("p", { class: "lx-note" }, `Round ${number}. Asked: “${prompt}”`),
    h("p", { class: "lx-running" }, readable(text), written),
    ask,
  );
  const go = () => {
    written.textContent = readable(
      guesses.map((guess, i) => (guess === null ? "" : slots[i].options[guess].text)).join(""),
    );
    if (!over()) {
      const index = guesses.length;
      const answers = {
        pick: (/** @type {number} */ option) => answered(index, [option]) && go(),
        typed: (/** @type {string} */ value) =>
          answered(index, typedGuesses(value, slots.slice(index))) && go(),
      };
      ask.replaceChildren(question(slots[index], index, answers, tools));
      return;
    }
    const scores = {
      you: scored(slots, guesses),
      heads: scored(
        slots,
        slots.map(({ head }) => head),
      ),
      model: scored(
        slots,
        slots.map((slot) => slot.true),
      ),
    };
    done(scores);
    const onward = () => element.isConnected && next(); // once: it takes this round off the page
    const on = h("button", { type: "button", onclick: onward }, "Next round ▸");
    ask.replaceChildren(
      answer(slots, guesses, scores, tools),
      h("div", { class: "lx-buttons" }, on, tools.seeLink(run, step, "See this step")),
    );
    on.focus({ preventScroll: true });
  };
  go();
  return element;
}

/**
 * @param {Slot} slot
 * @param {number} index
 * @param {{ pick: (option: number) => unknown, typed: (text: string) => unknown }} answers
 * @param {Tools} tools
 */
function question({ options }, index, { pick, typed }, { h }) {
  const field = h("input", {
    type: "text",
    class: "lx-typed",
    "aria-label": "Type what comes next",
    placeholder: "or type what comes next",
    autocomplete: "off",
    maxlength: 80,
  });
  return h(
    "form",
    {
      onsubmit: (/** @type {Event} */ event) => {
        event.preventDefault();
        if (field.value) typed(field.value);
      },
    },
    h("p", {}, `Piece ${index + 1} of 4: what comes next?`),
    h(
      "div",
      { class: "lx-options" },
      ...options.map(({ name }, i) =>
        h("button", { type: "button", onclick: () => pick(i) }, h("code", {}, name)),
      ),
    ),
    h("div", { class: "lx-buttons" }, field, h("button", { type: "submit" }, "Guess")),
  );
}

/**
 * What came, what the heads said, what you said.
 * @param {Slot[]} slots
 * @param {(number | null)[]} guesses
 * @param {Scores} scores
 * @param {Tools} tools
 */
function answer(slots, guesses, scores, { h, numbers }) {
  const below = (/** @type {number} */ least) =>
    `below ${numbers.probability(least)}`.replace("below under", "under");
  const cell = (/** @type {Slot} */ slot, /** @type {number | null | undefined} */ guess) => {
    if (guess === undefined) return h("td", {}, "–");
    if (guess === null) return h("td", { class: "is-off" }, "○ something else");
    const right = guess === slot.true;
    const { name, p } = slot.options[guess];
    return h(
      "td",
      { class: right ? "is-right" : "is-off" },
      `${right ? "●" : "○"} `,
      h("code", {}, name),
      ` ${p === null ? below(slot.least) : numbers.probability(p)}`,
    );
  };
  const row = (/** @type {string} */ name, /** @type {(number | null | undefined)[]} */ given) =>
    h("tr", {}, h("th", { scope: "row" }, name), ...slots.map((slot, i) => cell(slot, given[i])));
  const { you, heads } = scores;
  const words =
    you.greedy > heads.greedy
      ? `You win: ${you.greedy} in a row, the heads ${heads.greedy}.`
      : you.greedy === heads.greedy
        ? `A draw: ${you.greedy} in a row each.`
        : `The heads win: ${heads.greedy} in a row, you ${you.greedy}.`;
  return h(
    "div",
    {},
    h("p", { class: "lx-verdict" }, words),
    h(
      "div",
      {
        class: "lx-scroll",
        tabindex: 0,
        role: "region",
        "aria-label": "What came, and the guesses",
      },
      h(
        "table",
        { class: "lx-nodes lx-answers" },
        h(
          "tr",
          {},
          h("td", {}),
          ...slots.map((_, i) => h("th", { scope: "col" }, `head ${i + 1}`)),
        ),
        row(
          "came",
          slots.map((slot) => slot.true),
        ),
        row(
          "heads",
          slots.map((slot) => slot.head),
        ),
        row(
          "you",
          slots.map((_, i) => guesses[i]),
        ),
      ),
    ),
  );
}

/**
 * @param {Scores} total
 * @param {number} played
 * @param {Tools} tools
 */
function scoreTable(total, played, { h, numbers }) {
  return h(
    "div",
    { class: "lx-card" },
    h(
      "table",
      { class: "lx-nodes" },
      h("caption", {}, `Accepted guesses a round, over ${numbers.plural(played, "round")}`),
      h("tr", {}, h("td", {}), ...RULES.map((rule) => h("th", { scope: "col" }, rule))),
      ...PLAYERS.map(([who, name]) =>
        h(
          "tr",
          { "data-player": who },
          h("th", { scope: "row" }, name),
          ...RULES.map((rule) => h("td", {}, (total[who][rule] / played).toFixed(2))),
        ),
      ),
    ),
  );
}
