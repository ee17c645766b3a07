// The last run of a tab outlives a visit to another page of the app.

import { FORMAT_VERSION, Trace } from "./trace.js";

const KEY = "medusa-explorer-run";

/**
 * Keep a run for as long as the tab is open; one too large for the browser's storage is not kept.
 * @param {Trace} trace
 */
export function keep(trace) {
  if (!trace.header) return;
  try {
    sessionStorage.setItem(KEY, JSON.stringify(trace.record()));
  } catch {
    // no storage, or too little
  }
}

/** The run that was kept, if one was. */
export function recalled() {
  try {
    const record = JSON.parse(sessionStorage.getItem(KEY) ?? "null");
    return record?.format_version === FORMAT_VERSION ? Trace.of(record) : null;
  } catch {
    return null;
  }
}
