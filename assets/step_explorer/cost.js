// What the step cost: its parts in milliseconds against a plain step, and from when the tree pays.

import { card } from "./card.js";
import { h, replace } from "./dom.js";
import { milliseconds, plural, ratio } from "./numbers.js";
import { explained } from "./term.js";
import { stepMs } from "./times.js";
import { nameOf } from "./trace.js";

/**
 * @import { Explorer } from "./main.js"
 * @import { Trace } from "./trace.js"
 * @import { View } from "./verdicts.js"
 * @import { RaceFigures, Step } from "../../types/records.js"
 * @import { Child } from "./dom.js"
 */

const WORTH =
  "Estimates, the two that decided. The price: tokens that would be written in the time of the nodes' rows, by this machine's calibration, not by this run. Expected: what the heads give each node's path, times the trust in it that was measured, added up.";
const FLOOR =
  "The floor is the time that takes at this machine's speed of reading memory, measured when the model was loaded. What stays in the processor's cache from step to step comes faster.";
/** @type {(keyof Step["timings"])[]} */
const PARTS = ["heads", "draft", "verify", "accept", "commit"];

/** @param {Explorer} app */
export function costView(app) {
  const { element, note } = card("cost", "What the step cost", "");
  const body = element.appendChild(h("div", { class: "sx-cost-body" }));
  const draw = () => {
    replace(body, ...(app.view ? costs(app.trace, app.view) : empty()));
    const over = app.view?.step.over_floor ?? null;
    replace(note, ...(over === null ? [] : [`${ratio(over)} times its `, explained("floor")]));
  };
  app.store.subscribe((any) => any("trace", "step") && draw());
  draw();
  return element;
}

/**
 * @param {Trace} trace
 * @param {View} view
 * @returns {Child[]}
 */
function costs(trace, { step }) {
  if (step.timings.verify === 0)
    return [
      ...empty(),
      h(
        "p",
        {},
        "No pass was needed: the base model had chosen this token already, and the text ends with it.",
      ),
    ];
  const [total, plain] = [stepMs(step), trace.rival?.usualMs ?? null];
  const longest = Math.max(total, plain ?? 0) || 1;
  /** @type {[part: string, milliseconds: number][]} */
  const parts = partsOf(trace).map((name) => [name, step.timings[name]]);
  const bars = [bar("this step", parts, total, longest)];
  if (plain) bars.push(bar(rivalStep(trace), [["plain", plain]], plain, longest));
  if (step.floor) bars.push(floorBar(step.floor, longest));
  const listed = h(
    "p",
    { class: "sx-parts" },
    ...parts.map(([name, value], i) =>
      h(
        "span",
        {},
        h("i", { class: `sx-part is-${name}` }),
        `${name} ${milliseconds(value)}${i === parts.length - 1 ? " ms" : ""}`,
      ),
    ),
  );
  const drafted = (step.price ?? null) === null || step.token_ids.length > 1;
  return [
    ...bars,
    listed,
    trace.figures && drafted ? pays(trace, trace.figures, step) : null,
    worth(step),
  ];
}

/**
 * The parts of a step that the run has: no heads where none draft.
 * @param {Pick<Trace, "steps">} trace
 */
export const partsOf = ({ steps }) =>
  PARTS.filter((name) => steps.some(({ timings }) => timings[name] > 0));

/** @param {Trace} trace */
const rivalStep = ({ rival }) =>
  rival?.header?.settings.method === "plain" ? "plain step" : "rival’s step";

/**
 * The least time that reading and multiplying what the step has to takes.
 * @param {NonNullable<Step["floor"]>} floor
 * @param {number} longest
 */
function floorBar({ bytes, milliseconds: least, ...rest }, longest) {
  const row = bar("floor", [["floor", least]], least, longest);
  const multiplying = rest.arithmetic_ms ?? null;
  const products =
    multiplying === null
      ? ""
      : ` Its products take ${milliseconds(multiplying)} ms at the speed of multiplying that was measured; the longer of the two is drawn.`;
  row.title = `This step had to read ${Math.round(bytes / 1e6)} MB. ${FLOOR}${products}`;
  return row;
}

/**
 * Like with like: the step's own cost with its own yield, the run's with the run's. The line is what
 * the run needs, over what it makes; the dot is this step.
 * @param {Trace} trace
 * @param {RaceFigures} figures
 * @param {Step} step
 */
function pays(trace, { lane, rival, break_even: needed }, step) {
  const made = lane.tokens_per_step;
  if (needed === null || made === null || rival.tokens_per_second === null) return null;
  const perMs = rival.tokens_per_second / 1000;
  const gained = step.emitted.length;
  const other = trace.rival ? nameOf(trace.rival).toLowerCase() : "the other method";
  const most = Math.max(needed, made, gained, 2) * 1.08;
  const at = (/** @type {number} */ value) => `${(100 * value) / most}%`;
  return h(
    "div",
    { class: "sx-pays" },
    h(
      "div",
      {
        class: "sx-pays-track",
        role: "img",
        "aria-label": `The run breaks even at ${ratio(needed)} tokens per step`,
      },
      h("i", {
        class: `sx-pays-made ${made >= needed ? "is-fast" : "is-slow"}`,
        style: `width:${at(made)}`,
      }),
      h("i", { class: "sx-pays-step", style: `left:${at(gained)}` }),
      h("i", { class: "sx-pays-line", style: `left:${at(needed)}` }),
    ),
    h(
      "p",
      {},
      `While this step wrote ${gained}, ${other} would write ${ratio(stepMs(step) * perMs)} tokens; on average over the run ${ratio(made)} and ${ratio(needed)}.`,
    ),
  );
}

/**
 * Where nodes had to be worth their rows: what they cost, and what the heads promised of them.
 * @param {Step} step
 */
function worth({ price = null, promise = null, token_ids: { length: rows } }) {
  if (price === null) return null;
  if (rows === 1) return h("p", { title: WORTH }, "No guess was worth a row.");
  const expected = promise === null ? "" : `; ${ratio(promise)} are expected of them`;
  return h(
    "p",
    { title: WORTH },
    `Estimates: checking ${plural(rows - 1, "guess", "guesses")} costs the time of ${ratio(price)} tokens${expected}.`,
  );
}

/**
 * @param {string} name
 * @param {[part: string, milliseconds: number][]} parts
 * @param {number | null} total
 * @param {number} longest
 */
function bar(name, parts, total, longest) {
  const pieces = parts.map(([part, value]) =>
    h("i", {
      class: `sx-part is-${part}`,
      title: `${part} ${milliseconds(value)} ms`,
      style: `width:${(100 * value) / longest}%`,
    }),
  );
  return h(
    "div",
    { class: "sx-cost-row" },
    h("span", {}, name),
    h("div", {}, ...pieces),
    h("b", {}, `${milliseconds(total)} ms`),
  );
}

const empty = () => [bar("this step", [], null, 1), bar("plain step", [], null, 1)];
