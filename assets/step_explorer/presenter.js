// Presenter mode: large type, nothing but the picture, and a step revealed in six stages.

import { button, h, replace } from "./dom.js";
import { stages } from "./verdicts.js";

/** @import { Explorer } from "./main.js" */

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
    const told = stages(app.view);
    replace(
      chips,
      ...told.map(([name], i) =>
        button(name, `Stage ${i + 1} of ${told.length}`, () => app.store.set({ stage: i }), {
          "aria-pressed": i === app.state.stage,
          class: i <= app.state.stage ? "is-past" : null,
        }),
      ),
    );
    replace(sentence, told[app.state.stage][1]);
  });
  return element;
}
