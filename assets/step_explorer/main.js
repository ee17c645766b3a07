// The step explorer's page: its views laid out around one explorer.

import { barView, controls } from "./bar.js";
import { cacheView } from "./cache.js";
import { followColours } from "./colours.js";
import { costView } from "./cost.js";
import { h } from "./dom.js";
import { examplesView, promptView } from "./examples.js";
import { Explorer } from "./explorer.js";
import { foresightView } from "./foresight_map.js";
import { lanesView } from "./lanes.js";
import { maskView } from "./mask.js";
import { traceOf } from "./open.js";
import { wantedFrom } from "./permalink.js";
import { presenterView } from "./presenter.js";
import { raceView } from "./race.js";
import { storyView } from "./story.js";
import { loadStyles } from "./styles.js";
import { summaryView } from "./summary.js";
import { timelineView } from "./timeline.js";
import { treeView } from "./tree.js";
import { verdictView } from "./verdict.js";

/** @import { Options } from "./explorer.js" */

export { Explorer };

/** @param {Explorer} app */
function layout(app) {
  return [
    barView(app, examplesView(app)),
    promptView(app),
    presenterView(app),
    storyView(app),
    h("div", { class: "sx-row sx-row-race" }, lanesView(app), raceView(app)),
    timelineView(app, controls(app)),
    h("div", { class: "sx-row sx-row-step" }, treeView(app), verdictView(app), maskView(app)),
    h("div", { class: "sx-row sx-row-deep" }, cacheView(app), costView(app)),
    foresightView(app),
    summaryView(app),
  ];
}

/**
 * Load the style sheets, then build the explorer inside an element.
 * @param {Element} element
 * @param {Options} options
 */
export async function mount(element, options = {}) {
  await loadStyles();
  return new Explorer(element, options, layout);
}

/**
 * A page of its own, with one trace: what an exported HTML file does.
 * @param {Element} element
 * @param {string} json
 */
export function standalone(element, json) {
  followColours();
  const explorer = new Explorer(element, {}, layout);
  explorer.open(traceOf(JSON.parse(json), "This file"), "Saved run", {
    step: wantedFrom(location.hash).step,
  });
  return explorer;
}
