// One line on how the comparison stands, with a bar and the time that is left.

import { h } from "../step_explorer/dom.js";
import { plural } from "../step_explorer/numbers.js";

/**
 * @import { ComparePage } from "./main.js"
 * @import { Report } from "../../types/page.js"
 * @import { Comparison } from "./model.js"
 */

const EMPTY =
  "Choose methods and prompts, then press Compare. Every method races plain decoding on every prompt.";

/** @param {ComparePage} page */
export function statusView(page) {
  const text = h("span", {});
  const left = h("span", { class: "cx-left" });
  const bar = h("i", {});
  const track = h(
    "div",
    {
      class: "cx-track",
      role: "progressbar",
      "aria-label": "Progress",
      "aria-valuemin": 0,
      "aria-valuemax": 100,
    },
    bar,
  );
  const element = h("div", { class: "cx-status" }, h("p", { role: "status" }, text), left, track);

  function update() {
    const { comparison } = page;
    const { phase, text: said, share: part, left: rest } = comparison.doing;
    const { engine, report, recorded } = comparison;
    const status = { phase, text: said, share: part, left: rest, engine, report, recorded };
    const { kind, words, share, seconds } = state(status);
    element.className = `cx-status is-${kind}`;
    if (text.textContent !== words) text.textContent = words;
    left.textContent = seconds === null ? "" : `about ${duration(seconds)} left`;
    track.hidden = share === null;
    track.setAttribute("aria-valuenow", String(Math.round(100 * (share ?? 0))));
    bar.style.width = `${100 * (share ?? 0)}%`;
  }
  return { element, update, live: true };
}

/**
 * @param {Pick<Comparison, "phase" | "text" | "share" | "left" | "engine" | "report" | "recorded">} comparison
 * @returns {{ kind: string, words: string, share: number | null, seconds: number | null }}
 */
function state({ phase, text, share, left, engine, report, recorded }) {
  const quiet = { share: null, seconds: null };
  if (phase === "running")
    return { kind: "running", words: text || "Beginning", share, seconds: left };
  if (phase === "waiting") return { ...quiet, kind: "waiting", words: text };
  if (phase === "failed") return { ...quiet, kind: "failed", words: text };
  if (phase === "stopped") return { ...quiet, kind: "done", words: stopped(report) };
  if (phase === "done")
    return {
      ...quiet,
      kind: "done",
      words: `${recorded ? "A recorded comparison." : "Done."} ${report?.fastest ?? ""}`,
    };
  if (engine.phase === "loading") {
    return { kind: "loading", words: `${engine.text} …`, share: engine.fraction, seconds: null };
  }
  if (engine.phase === "failed") return { ...quiet, kind: "failed", words: engine.text };
  return { ...quiet, kind: "empty", words: EMPTY };
}

/** @param {Report | null} report */
function stopped(report) {
  if (!report?.prompts)
    return "Cancelled before the first prompt was finished: nothing was measured.";
  return `Cancelled: the figures are of the ${plural(report.prompts, "prompt")} that every method finished. ${report.fastest}`;
}

/** @param {number} seconds */
function duration(seconds) {
  if (seconds < 10) return "10 s";
  if (seconds < 90) return `${10 * Math.round(seconds / 10)} s`;
  return `${Math.round(seconds / 60)} min`;
}
