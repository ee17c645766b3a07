// What the race came to, for those who have a minute: one large figure, one sentence why, what to do
// next, and the race to be watched again. The words come with the trace: explorer/analysis.

import { button, h, replace } from "./dom.js";
import { NONE, plural, ratio } from "./numbers.js";
import { paceName, pacesOf } from "./playback.js";
import { explained, linkTo } from "./term.js";
import { nameOf } from "./trace.js";

/**
 * @import { Explorer } from "./main.js"
 * @import { Child } from "./dom.js"
 * @import { Suggestion } from "../../types/records.js"
 * @import { Trace } from "./trace.js"
 */

const CHEAP = "Why do several rows cost little more than one?";

/** @param {Explorer} app */
export function storyView(app) {
  const figure = h("div", { class: "sx-speedup" });
  const reason = h("p", { class: "sx-reason" });
  const next = h("div", { class: "sx-next" });
  const paces = [0, 1, 2].map((i) =>
    button("", "", () => watch(app, pacesOf(app.trace.seconds)[i])),
  );
  const replay = h(
    "div",
    { class: "sx-replay", role: "group", "aria-label": "Watch the race" },
    h("span", {}, "Watch the race"),
    ...paces,
  );
  const element = h(
    "section",
    { class: "sx-card sx-story", "aria-label": "What the race came to" },
    figure,
    h("div", { class: "sx-because" }, reason, next),
    replay,
  );
  const draw = () => {
    const { figures } = app.trace;
    const rival = app.trace.rival ? nameOf(app.trace.rival).toLowerCase() : "";
    const said = (/** @type {string} */ words) => words.replaceAll("{rival}", rival);
    figure.className = `sx-speedup is-${figures?.kind ?? "none"}`;
    replace(figure, ...headline(app.trace, said));
    const why = figures?.kind === "fast" ? linkTo("memory_wall", CHEAP) : null;
    replace(reason, `${said(figures?.reason ?? "")} `, why);
    replace(next, app.state.live ? null : suggested(app, figures?.suggestion ?? null));
  };
  app.store.subscribe((any) => {
    if (any("trace", "grown", "live")) draw();
    if (any("trace", "live", "playing", "speed", "step")) {
      pacesOf(app.trace.seconds).forEach((pace, i) => offer(app, paces[i], pace));
    }
  });
  draw();
  return element;
}

/**
 * @param {Explorer} app
 * @param {HTMLButtonElement} one
 * @param {string} pace
 */
function offer({ state, view }, one, pace) {
  const title = `Watch the race at ${paceName(pace)} of the measured pace`;
  if (one.textContent !== paceName(pace)) one.textContent = paceName(pace);
  one.title = title;
  one.setAttribute("aria-label", title);
  one.disabled = !view || state.live;
  one.setAttribute("aria-pressed", String(state.playing && state.speed === pace));
}

/**
 * From the start, at the measured pace or slower; again: pause.
 * @param {Explorer} app
 * @param {string} speed
 */
function watch(app, speed) {
  const { state } = app;
  if (state.playing && state.speed === speed) return app.playback.stop();
  app.store.set({ speed });
  return app.playback.start(0);
}

/**
 * The large figure, where there is one; in place of a figure that says nothing, words.
 * @param {Trace} trace
 * @param {(words: string) => string} said
 * @returns {Child[]}
 */
function headline({ figures, rival }, said) {
  if (figures === null || figures.speedup === null)
    return [h("strong", {}, NONE), h("p", {}, "nothing measured yet")];
  const { speedup, half_width, estimate, kind, words, lane } = figures;
  const sure = half_width === null || estimate ? "" : `± ${ratio(half_width)}`;
  const other = rival ? nameOf(rival).toLowerCase() : "the other lane";
  const how = estimate
    ? `estimate: only ${plural(figures.rival.tokens, "token")} of ${other} so far`
    : `measured: ${plural(lane.tokens, "token")} in ${plural(lane.steps, "step")}`;
  if (kind === "unclear" || kind === "busy") {
    const measured = `${[`${ratio(speedup)}×`, sure].filter(Boolean).join(" ")}, ${how}`;
    return [h("strong", { class: "is-words" }, said(words)), h("p", {}, measured)];
  }
  return [
    h(
      "strong",
      {},
      `${ratio(speedup)}×`,
      sure ? h("em", {}, " ", explained(sure, "interval")) : null,
    ),
    h("p", {}, h("b", {}, said(words)), ` · ${how}`),
  ];
}

/**
 * @param {Explorer} app
 * @param {Suggestion | null} suggestion
 */
function suggested(app, suggestion) {
  if (!suggestion) return null;
  const { does, label, step, settings } = suggestion;
  if (does === "look") return button(label, label, () => app.show(step ?? 0));
  if (!app.rerun) return null;
  return button(label, `${label}: the same prompt, on this machine`, () => app.rerun?.(settings));
}
