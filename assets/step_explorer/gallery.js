// The examples that the page offers, and their recorded runs.

import { recalled, recalledExample, wasCut } from "./keep.js";
import { OpenError, openTrace } from "./open.js";
import { wantedFrom } from "./permalink.js";

/** @import { Explorer } from "./main.js" */

const CUT = "Your last run, as far as it had come when you left the page";

/**
 * Open an example's recorded run, and put its prompt where it can be run.
 * @param {Explorer} app
 * @param {string} name
 */
export async function choose(app, name) {
  const example = app.gallery.find((one) => one.name === name);
  if (example) app.options.fill?.(example);
  await openRecorded(app, name, { play: true });
}

/**
 * Read the list of recorded runs, and show what the address asks for, or the first one.
 * @param {Explorer} app
 * @param {URL} url
 */
export async function readGallery(app, url) {
  const answer = await fetch(new URL("index.json", url));
  app.examples = await answer.json();
  app.gallery = app.examples.flatMap((one) =>
    one.file ? [{ ...one, file: one.file, base: url }] : [],
  );
  app.store.touch("gallery");
  const wanted = wantedFrom(location.hash);
  app.live.want(wanted.trace ? null : wanted.step);
  if (app.trace.header) return;
  const linked = wanted.prompt !== null || wanted.step !== null;
  const name = wanted.trace ?? wanted.example ?? (linked ? null : recalledExample());
  const known = app.gallery.find((entry) => entry.name === name);
  const set = app.options.run ? settingsSaid(wanted.settings) : "";
  if (known)
    return openRecorded(app, known.name, { step: wanted.step, play: !wanted.trace && !set, set });
  const kept = recalled();
  if (kept && !wanted.trace && !wanted.prompt)
    return app.open(kept, wasCut() ? CUT : "Your last run", {
      step: wanted.step,
      own: wasCut() ? "cut" : "whole",
    });
  if (app.gallery.length) await openRecorded(app, app.gallery[0].name, { play: !wanted.trace });
  if (wanted.trace)
    app.store.set({
      problem: `There is no recorded run called ${wanted.trace}, so this is another one: choose an example.`,
    });
  else if (wanted.prompt)
    app.store.set({
      problem: app.options.run
        ? `This link names a run that was not recorded: press Run to repeat it. It then opens at step ${(wanted.step ?? 0) + 1}.`
        : "This link names a run that was not recorded, and nothing can be run here: this is a recorded one.",
    });
}

/**
 * That a link has set something which the recorded run on view does not have.
 * @param {object} settings
 */
export function settingsSaid(settings) {
  const names = Object.keys(settings).map((name) => name.replaceAll("_", " "));
  if (!names.length) return "";
  const set = `${names.join(", ")} ${names.length === 1 ? "is" : "are"}`;
  return `This link’s ${set} set: press Run to try it. Until then this is a recorded run.`;
}

/**
 * Open a recorded run of the list.
 * @param {Explorer} app
 * @param {string} name
 * @param {{ step?: number | null, play?: boolean, set?: string }} [more] `set`: said beside it
 */
async function openRecorded(app, name, { set = "", ...more } = {}) {
  const entry = app.gallery.find((one) => one.name === name);
  if (!entry)
    return app.store.set({
      problem: `There is no recorded run called ${name}: choose one from the list.`,
    });
  const label = `Recorded run ‘${entry.name}’`;
  return app.attempt(
    fetch(new URL(entry.file, entry.base)).then(async (answer) => {
      if (!answer.ok) throw new OpenError(`${label} could not be fetched: try again.`);
      const trace = await openTrace(await answer.blob(), entry.file);
      if (app.state.live) return; // a run has begun meanwhile
      app.open(trace, label, { recorded: entry.name, ...more });
      app.notice = set;
    }),
  );
}
