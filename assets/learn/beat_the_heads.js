// Beat the heads: pick or type the next pieces of a recorded text, then see who had more.

import { readable } from "../step_explorer/text.js";
import { guessing, scored, typedGuesses } from "./beat.js";

/**
 * @import { Tools } from "./kit.js"
 * @import { Score, Slot } from "./beat.js"
 * @typedef {{ run: string, step: number, prompt: string, text: string, slots: Slot[] }} Round
 * @typedef {{ texts: { name: string, rounds: Round[] }[] }} Data
 * @typedef {{ you: Score, heads: Score, model: Score }} Scores
 * @typedef {{ text: Data["texts"][0], round: number, played: number, total: Scores }} State
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
  /** @type {State} */
  const state = { text: data.texts[0], round: 0, played: 0, total: nothing() };
  const game = h("div", {});
  const board = h("div", { class: "lx-board" });
  const begin = () => {
    const { rounds } = state.text;
    const last = state.round + 1 === rounds.length;
    game.replaceChildren(
      roundView(rounds[state.round], tools, {
        number: `${state.round + 1} of ${rounds.length}`,
        done: (scores) => {
          state.played += 1;
          for (const [who] of PLAYERS)
            for (const rule of RULES) state.total[who][rule] += scores[who][rule];
          board.replaceChildren(scoreTable(state, tools));
        },
        onward: () => (last ? end() : [button("Next round ▸", () => to(state.round + 1))]),
      }),
    );
  };
  const to = (/** @type {number} */ round) => {
    state.round = round;
    if (round === 0) {
      Object.assign(state, { played: 0, total: nothing() }); // each text is a game of its own
      board.replaceChildren();
    }
    begin();
  };
  // Once: what it does takes the button off the page.
  const button = (/** @type {string} */ name, /** @type {() => void} */ act) => {
    const made = h("button", { type: "button", onclick: () => made.isConnected && act() }, name);
    return made;
  };
  const end = () => [
    ...data.texts
      .filter((one) => one !== state.text)
      .map(({ name }) => button(`Play “${name}” ▸`, () => play(name))),
    button("Play these again", () => to(0)),
  ];
  const play = (/** @type {string} */ name) => {
    texts.set(name);
    state.text = data.texts.find((one) => one.name === name) ?? data.texts[0];
    to(0);
  };
  const texts = choice(
    "Text",
    data.texts.map(({ name }) => [name, name]),
    state.text.name,
    play,
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
 * @param {{ number: string, done: (scores: Scores) => void, onward: () => HTMLElement[] }} given
 */
function roundView({ run, prompt, text, slots, step }, tools, { number, done, onward }) {
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
    const on = onward();
    ask.replaceChildren(
      answer(slots, guesses, scores, tools),
      h("div", { class: "lx-buttons" }, ...on, tools.seeLink(run, step, "See this step")),
    );
    on[0].focus({ preventScroll: true });
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
    h("p", {}, `Piece ${index + 1} of 4: what comes next? A wrong guess ends the round.`),
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
 * Who had more right guesses, in words.
 * @param {number} you
 * @param {number} heads
 */
function winner(you, heads) {
  if (you === heads) return `a draw, you ${you}, the heads ${heads}.`;
  return `${you > heads ? "you win" : "the heads win"}, you ${you}, the heads ${heads}.`;
}

/**
 * What came, what the heads said, what you said.
 * @param {Slot[]} slots
 * @param {(number | null)[]} guesses
 * @param {Scores} scores
 * @param {Tools} tools
 */
function answer(slots, guesses, scores, { h, numbers }) {
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
      ` ${p === null ? under(numbers.probability(slot.least)) : numbers.probability(p)}`,
    );
  };
  /** Said of a token that is not among those recorded. @param {string} least the least of them */
  const under = (least) => (/^\d/.test(least) ? `under ${least}` : least);
  const row = (/** @type {string} */ name, /** @type {(number | null | undefined)[]} */ given) =>
    h("tr", {}, h("th", { scope: "row" }, name), ...slots.map((slot, i) => cell(slot, given[i])));
  return h(
    "div",
    {},
    h("p", { class: "lx-verdict" }, `In a row: ${winner(scores.you.greedy, scores.heads.greedy)}`),
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
    h(
      "p",
      { class: "lx-note" },
      "Figures: the base model’s probability of the piece, in the text as it came.",
    ),
  );
}

/**
 * @param {State} state
 * @param {Tools} tools
 */
function scoreTable({ text, total, played }, { h }) {
  const all = played === text.rounds.length;
  return h(
    "div",
    { class: "lx-card" },
    all
      ? h(
          "p",
          { class: "lx-verdict" },
          `All ${played} rounds of “${text.name}”: ${winner(total.you.greedy, total.heads.greedy)}`,
        )
      : null,
    h(
      "table",
      { class: "lx-nodes" },
      h(
        "caption",
        {},
        `Accepted guesses a round, “${text.name}”, after ${played} of ${text.rounds.length}`,
      ),
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
