// The bar on top: where the run comes from, recorded runs, and what can be done with it.

import { button, h, select } from "./dom.js";
import { KEYS } from "./keys.js";
import { SPEEDS } from "./playback.js";
import { saveHtml, saveTrace } from "./save.js";

/** @import { Explorer } from "./main.js" */

const PACKED = import.meta.url.startsWith("data:"); // inside such a file already

/**
 * @param {Explorer} app
 * @param {Element} examples
 */
export function barView(app, examples) {
  const caption = h("p", { class: "sx-caption" });
  const input = h("input", {
    type: "file",
    accept: ".gz,.json.gz",
    hidden: true,
    "aria-label": "Trace file",
    onchange: async () => {
      const [file] = input.files ?? [];
      input.value = "";
      if (file) await app.openFile(file);
    },
  });
  const needing = [
    button("Save", "Save this run as a trace", () => saveTrace(app.trace)),
    ...(PACKED
      ? []
      : [
          button("Save as web page", "Save this run as one HTML file that opens offline", () =>
            app.attempt(saveHtml(app.trace)),
          ),
        ]),
    button("Link", "Copy a link to this step", () => app.copyLink()),
    button("Present", "Presenter mode: large type, a step in stages (p)", () => app.present(true)),
  ];
  const element = h(
    "div",
    { class: "sx-topbar" },
    examples,
    caption,
    h(
      "div",
      { class: "sx-tools" },
      button("Open file", "Open a saved trace", () => input.click()),
      ...needing,
      help(),
    ),
    input,
  );
  app.store.subscribe((any) => {
    if (any("source", "problem", "trace")) draw(app, caption);
    if (any("trace", "step")) needing.forEach((one) => (one.disabled = !app.view));
  });
  return element;
}

/**
 * @param {Explorer} app
 * @param {HTMLElement} caption
 */
function draw(app, caption) {
  const { problem, source } = app.state;
  caption.classList.toggle("is-problem", problem !== null);
  caption.setAttribute("role", problem === null ? "note" : "alert");
  caption.textContent = problem ?? source ?? "";
  caption.title = caption.textContent;
}

function help() {
  const rows = KEYS.map(([key, does]) =>
    h("tr", {}, h("th", { scope: "row" }, key), h("td", {}, does)),
  );
  const summary = h("summary", { title: "Keys" }, "Keys");
  const element = h(
    "details",
    { class: "sx-help" },
    summary,
    h("table", {}, h("tbody", {}, ...rows)),
  );
  const close = () => (element.open = false);
  // It lies over the page: Esc closes it, and so does whatever is done elsewhere.
  document.addEventListener("pointerdown", ({ target }) => {
    if (target instanceof Node && !element.contains(target)) close();
  });
  element.addEventListener("focusout", ({ relatedTarget }) => {
    if (relatedTarget instanceof Node && !element.contains(relatedTarget)) close();
  });
  document.addEventListener("keydown", ({ key }) => {
    if (key !== "Escape" || !element.open) return;
    if (element.contains(document.activeElement)) summary.focus();
    close();
  });
  return element;
}

/**
 * The buttons above the timeline.
 * @param {Explorer} app
 */
export function controls(app) {
  const play = button("▶", "Play (space)", () => app.playback.toggle(), { class: "sx-play" });
  const speed = select("Speed of playing", SPEEDS, app.state.speed, (value) =>
    app.store.set({ speed: value }),
  );
  const follow = button("follow live", "Follow the newest step (l)", () => app.followLive(), {
    class: "sx-follow",
  });
  app.store.subscribe((any) => {
    if (any("playing")) {
      const [sign, label] = app.state.playing ? ["❚❚", "Pause (space)"] : ["▶", "Play (space)"];
      play.textContent = sign;
      play.title = label;
      play.setAttribute("aria-label", label);
    }
    if (any("speed")) speed.value = app.state.speed;
    if (!any("follow", "live", "trace")) return;
    follow.setAttribute("aria-pressed", String(app.state.follow && app.state.live));
    follow.disabled = !app.state.live;
  });
  return [
    button("|◂", "First step (Home)", () => app.show(0)),
    button("◂", "Previous step (←)", () => app.show((app.state.step ?? 0) - 1)),
    play,
    button("▸", "Next step (→)", () => app.show((app.state.step ?? 0) + 1)),
    button("▸|", "Last step (End)", () => app.show(Infinity)),
    speed,
    follow,
  ];
}
