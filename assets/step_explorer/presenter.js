// Presenter mode: large type, nothing but the picture, and a step revealed in six stages.

import { button, h, replace } from "./dom.js";
import { placeOf, stages } from "./verdicts.js";

/**
 * @import { Explorer } from "./main.js"
 * @import { Trace } from "./trace.js"
 */

const VERIFY = 3;

/** @param {Explorer} app */
export function presenterView(app) {
  const chips = h("div", { class: "sx-chips", role: "group", "aria-label": "Stages of the step" });
  const sentence = h("p", { class: "sx-stage-sentence", "aria-live": "polite" });
  const element = h(
    "section",
    { class: "sx-card sx-presenter", "aria-label": "Presenter mode" },
    chips,
    sentence,
    h(
      "div",
      { class: "sx-tools" },
      button("◂ back", "Back (←)", () => app.move(-1)),
      button("next ▸", "Next (→)", () => app.move(1), { class: "is-main" }),
      button("leave", "Leave presenter mode (Esc)", () => app.present(false)),
    ),
  );
  app.store.subscribe((any) => {
    if (!any("presenter", "stage", "step", "trace") || !app.state.presenter || !app.view) return;
    const all = stages(app.view);
    const { stage } = app.state;
    app.element.dataset.stage = String(stage); // presenter.css shows what a stage is about
    const lesson = lessonOf(app.trace);
    replace(
      chips,
      ...all.map(([at, name], i) =>
        button(name, `Stage ${i + 1} of ${all.length}`, () => app.store.set({ stage: at }), {
          "aria-pressed": String(at === stage),
          class: at <= stage ? "is-past" : null,
        }),
      ),
      lesson.length ? h("span", {}, "Steps to show:") : null,
      ...lesson.map(([name, step]) =>
        button(name, `Step ${step + 1}`, () => {
          app.show(step);
          app.store.set({ stage: 0 });
        }),
      ),
    );
    const asks = stage === VERIFY && app.view.rows > 1;
    const said = all[placeOf(app.view, stage)][2];
    replace(sentence, said, asks ? h("strong", {}, " Which guess will be taken?") : null);
  });
  return element;
}

/**
 * Three steps that show all there is: every guess right, a sibling taken, none right.
 * @param {Trace} trace
 * @returns {[name: string, step: number][]}
 */
function lessonOf(trace) {
  const find = (/** @type {(step: Trace["steps"][number]) => boolean} */ fits) =>
    trace.steps.findIndex(
      (step) => step.base_top.length > 0 && step.token_ids.length > 1 && fits(step),
    );
  const deepest = (/** @type {Trace["steps"][number]} */ step) =>
    Math.max(...trace.shape(step).depths);
  /** @type {[string, number][]} */
  const lesson = [
    ["all right", find((step) => step.accepted.length - 1 === deepest(step))],
    ["a sibling", find((step) => step.accepted.some((row) => trace.shape(step).ranks[row] > 0))],
    ["none right", find((step) => step.accepted.length === 1)],
  ];
  return lesson.filter(([, step]) => step >= 0);
}
