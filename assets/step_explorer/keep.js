// The last run of a tab, and the example that was on view, outlive a visit to another page.

import { FORMAT_VERSION, Trace } from "./trace.js";

const KEY = "medusa-explorer-run";
const EXAMPLE = "medusa-explorer-example";

/**
 * Keep a run for as long as the tab is open; one too large for the browser's storage is not kept.
 * @param {Trace} trace
 * @param {boolean} cut whether it was left while it still went on
 */
export function keep(trace, cut = false) {
  if (!trace.header) return;
  try {
    sessionStorage.setItem(KEY, JSON.stringify({ ...trace.record(), cut }));
    sessionStorage.removeItem(EXAMPLE);
  } catch {
    // no storage, or too little
  }
}

/** The run that was kept, if one was. */
export function recalled() {
  const record = stored();
  return record ? Trace.of(record) : null;
}

/** Whether the run that was kept never came to its end. */
export const wasCut = () => stored()?.cut === true;

/**
 * Remember the example that is on view.
 * @param {string} name
 */
export function keepExample(name) {
  try {
    sessionStorage.setItem(EXAMPLE, name);
  } catch {
    // no storage here
  }
}

/** The name of the example that was on view last; null: it was a run. */
export function recalledExample() {
  try {
    return sessionStorage.getItem(EXAMPLE);
  } catch {
    return null;
  }
}

function stored() {
  try {
    const record = JSON.parse(sessionStorage.getItem(KEY) ?? "null");
    return record?.format_version === FORMAT_VERSION ? record : null;
  } catch {
    return null;
  }
}
