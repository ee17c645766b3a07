// Chapter 9: heads that learn within a class, recorded or live, and how the shipped ones learned.

import { said, speedLines } from "./class_race.js";
import { LiveClass } from "./live_class.js";

/**
 * @import { Tools } from "./kit.js"
 * @typedef {[label: string, prob: number, right: boolean]} Guess
 * @typedef {{ seconds: number, update: number, losses: number[] | null, top1: number[],
 *   guesses: Guess[][], tokens_per_step: number, race?: Race }} Frame
 * @import { Race } from "./class_race.js"
 * @typedef {{ model: string, backend: string, measured: string, train_tokens: number, seconds: number,
 *   every: number, text: string, truth: string[], frames: Frame[] }} Class
 * @typedef {{ recorded: Class, epochs: { stage: number, epoch: number, top1: number[] }[],
 *   weights: number[], question: Parameters<Tools["question"]>[0] }} Data
 */

const KINDS = ["own", "rival", "third", "quiet"];
const PAUSE = 700; // ms between two frames of a recorded class

/**
 * The first step whose guesses heads made, and that accepted one.
 * @param {import("../step_explorer/trace.js").Trace} trace
 */
export function seenIn({ header, steps }) {
  if (!["medusa", "hydra"].includes(header?.settings.method ?? "")) return null;
  const at = steps.findIndex(({ accepted }) => accepted.length > 1);
  return at < 0 ? null : at;
}

/** @param {HTMLElement} place @param {Data} data @param {Tools} tools */
export function mount(place, data, tools) {
  const { h, slider } = tools;
  let shown = data.recorded;
  let at = shown.frames.length - 1;
  const board = blackboard(tools);
  const clock = h("div", {});
  const update = () => board.show(shown, at);
  const frames = (/** @type {Class} */ lesson, /** @type {number} */ frame) => {
    shown = lesson;
    at = Math.min(frame, lesson.frames.length - 1);
    const last = lesson.frames.length - 1;
    clock.replaceChildren(
      slider({
        ...{ label: "Time of the class", min: 0, max: Math.max(1, last), step: 1, value: at },
        format: (value) => `${lesson.frames[Math.min(last, value)]?.seconds.toFixed(0) ?? 0} s`,
        change: (value) => {
          at = Math.min(last, value);
          update();
        },
      }).element,
    );
    update();
  };
  const again = replayed(tools, () => data.recorded, frames);
  const live = new LiveClass(tools, (lesson) => {
    again.stop();
    const seen = lesson ?? data.recorded;
    frames(seen, seen.frames.length - 1);
  });
  place.append(
    h(
      "div",
      { class: "lx-card" },
      h("div", { class: "lx-buttons" }, again.button, ...live.buttons),
      live.said,
      clock,
      board.element,
    ),
    tools.question(data.question),
    h(
      "details",
      { class: "lx-card" },
      h("summary", {}, "How the shipped heads learned: held-out top-1 after each epoch"),
      shippedChart(data, tools),
    ),
  );
  frames(data.recorded, data.recorded.frames.length - 1);
  return live.look();
}

/**
 * @param {Tools} tools
 * @param {() => Class} recorded
 * @param {(lesson: Class, frame: number) => void} show
 */
function replayed({ h }, recorded, show) {
  /** @type {ReturnType<typeof setInterval> | undefined} */
  let timer;
  const stop = () => {
    clearInterval(timer);
    timer = undefined;
  };
  const start = () => {
    stop();
    let frame = 0;
    show(recorded(), frame);
    timer = setInterval(() => {
      frame += 1;
      if (frame >= recorded().frames.length || !button.isConnected) stop();
      else show(recorded(), frame);
    }, PAUSE);
  };
  const button = h("button", { type: "button", onclick: start }, "Replay the recorded class");
  return { button, stop };
}

/** @param {Tools} tools */
function blackboard(tools) {
  const { h, figures } = tools;
  const out = figures([
    ["update", "updates"],
    ["top1", "head 1 is right"],
    ["tau", "tokens per step"],
    ["right", "right guesses in the step"],
    ["speedup", "of plain decoding’s speed"],
  ]);
  const step = h("div", { class: "lx-step" });
  const accuracy = tools.chart({
    ...{ label: "Held-out accuracy of each head", height: 170 },
    x: { title: "seconds", min: 0, max: 90 },
    y: { title: "top-1, held-out text", min: 0, max: 0.3 },
  });
  const losses = tools.chart({
    ...{ label: "Loss of each head on the text that it learns from", height: 170 },
    x: { title: "seconds", min: 0, max: 90 },
    y: { title: "loss, training text", min: 2, max: 10 },
  });
  const speeds = tools.chart({
    ...{ label: "Speed of the race at each look", height: 170 },
    x: { title: "seconds", min: 0, max: 90 },
    y: { title: "of plain decoding", min: 0, max: 1.5 },
  });
  const source = h("p", { class: "lx-note" });
  const raced = h("p", { class: "lx-note", role: "status" });
  /** @param {Class} lesson @param {number} at */
  function show(lesson, at) {
    const seen = lesson.frames.slice(0, at + 1);
    const frame = seen.at(-1);
    if (!frame) return;
    const right = frame.guesses.filter((head) => head.some(([, , hit]) => hit)).length;
    out.set("update", tools.numbers.count(frame.update));
    out.set("top1", tools.numbers.share(frame.top1[0]));
    out.set("tau", frame.tokens_per_step.toFixed(2));
    out.set("right", `${right} of ${frame.guesses.length}`);
    step.replaceChildren(stepTable(lesson, frame, tools));
    const all = lesson.frames.flatMap(({ losses: each }) => each ?? []);
    const [low, high] = [Math.floor(Math.min(...all, 9)), Math.ceil(Math.max(...all, 1))];
    const most = Math.max(0.1, ...lesson.frames.flatMap(({ top1 }) => top1));
    const x = { max: lesson.seconds };
    accuracy.set({
      x,
      y: { max: Math.ceil(10 * most) / 10 },
      lines: lines(seen, (one) => one.top1),
    });
    losses.set({
      x,
      y: { min: low, max: Math.max(low + 1, high) },
      lines: lines(seen, (one) => one.losses),
    });
    const races = seen.filter(({ race }) => race);
    speeds.element.hidden = races.length === 0; // classes of earlier versions were not timed
    speeds.set({ x, lines: speedLines(lesson, races) });
    out.set("speedup", frame.race ? `${tools.numbers.ratio(frame.race.speedup)}×` : "not timed");
    raced.textContent = frame.race ? said(frame.race, tools) : "";
    source.textContent = `${lesson.model}, ${lesson.backend}, ${lesson.measured}: ${tools.numbers.count(lesson.train_tokens)} tokens to learn from. Tokens per step: a chain of first guesses, replayed on a held-out reply.`;
  }
  const element = h(
    "div",
    {},
    out.element,
    step,
    raced,
    h("div", { class: "lx-pair" }, speeds.element, accuracy.element, losses.element),
    source,
  );
  return { element, show };
}

/**
 * @param {Frame[]} seen
 * @param {(frame: Frame) => number[] | null} values
 */
function lines(seen, values) {
  const known = seen.filter((frame) => values(frame));
  const heads = values(known[0] ?? seen[0])?.length ?? 0;
  return Array.from({ length: heads }, (_, k) => ({
    name: `head ${k + 1}`,
    kind: KINDS[k % KINDS.length],
    points: known.map(
      (frame) => /** @type {[number, number]} */ ([frame.seconds, (values(frame) ?? [])[k]]),
    ),
  }));
}

/**
 * The tree of one fixed step: the text, the root, and the best guesses of each head.
 * @param {Class} lesson
 * @param {Frame} frame
 * @param {Tools} tools
 */
function stepTable({ text, truth }, { guesses }, { h, numbers }) {
  const [root, ...wanted] = truth;
  return h(
    "div",
    { class: "lx-scroll", tabindex: 0, role: "region", "aria-label": "The step, node by node" },
    h(
      "p",
      { class: "lx-note" },
      "One step, always the same: …",
      h("code", {}, text.slice(-60)),
      " ■ ",
      h("code", {}, root),
    ),
    h(
      "table",
      { class: "lx-nodes lx-answers" },
      h("tr", {}, h("td", {}), ...wanted.map((_, k) => h("th", { scope: "col" }, `head ${k + 1}`))),
      h(
        "tr",
        {},
        h("th", { scope: "row" }, "wanted"),
        ...wanted.map((name) => h("td", {}, h("code", {}, name))),
      ),
      ...[0, 1, 2].map((rank) =>
        h(
          "tr",
          {},
          h("th", { scope: "row" }, `guess ${rank + 1}`),
          ...guesses.map((head) => {
            const [name, prob, right] = head[rank];
            return h(
              "td",
              { class: right ? "is-right" : "" },
              right ? "● " : "○ ",
              h("code", {}, name),
              ` ${numbers.probability(prob)}`,
            );
          }),
        ),
      ),
    ),
  );
}

/** @param {Data} data @param {Tools} tools */
function shippedChart({ epochs }, tools) {
  const chart = tools.chart({
    ...{ label: "Held-out top-1 accuracy of the shipped heads after each epoch", height: 190 },
    x: { title: "epoch, trainings no. 1 to 4", min: 0, max: epochs.length },
    y: { title: "top-1", min: 0, max: 0.6 },
  });
  chart.set({
    lines: epochs[0].top1.map((_, k) => ({
      name: `head ${k + 1}`,
      kind: KINDS[k % KINDS.length],
      points: epochs.map(({ top1 }, i) => /** @type {[number, number]} */ ([i + 1, top1[k]])),
    })),
    marks: epochs.flatMap(({ stage, epoch }, i) =>
      epoch === 1 && stage > 1 ? [{ x: i + 0.5, label: `no. ${stage}` }] : [],
    ),
  });
  return chart.element;
}
