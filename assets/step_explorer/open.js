// Opens a `.json.gz` trace inside the browser. Whatever is wrong with it becomes one sentence.

import { base64 } from "./dom.js";
import { FORMAT_VERSION, Trace } from "./trace.js";
import { firstFault, isTooLong, MAX_STEPS } from "./validate.js";

export const SUFFIX = ".json.gz";
export const MAX_BYTES = 64 * 2 ** 20; // of JSON, after decompression

/** Its message is for the reader. */
export class OpenError extends Error {}

/** @typedef {(file: string) => Promise<any>} Upgrade */

/**
 * The trace in a file (a File or Blob). Throws OpenError for anything but a valid trace.
 * @param {Blob & { name?: string }} file
 * @param {string} name
 * @param {Upgrade | null} upgrade
 */
export async function openTrace(file, name = file.name ?? "The trace", upgrade = null) {
  if (file.size > MAX_BYTES) throw tooLarge(name);
  const record = parsed(await inflated(file, name), name);
  const whole = record?.format_version >= FORMAT_VERSION && record.figures && labelled(record);
  if (upgrade === null || whole || !Number.isInteger(record?.format_version))
    return traceOf(record, name);
  const today = await upgrade(base64(new Uint8Array(await file.arrayBuffer())));
  if (today.problem) throw new OpenError(today.problem);
  return traceOf(today, name);
}

/**
 * Whether the tokens come with their labels, which earlier files lack.
 * @param {any} record
 */
const labelled = ({ pieces }) => Object.values(pieces ?? {}).every((one) => one?.label);

/**
 * The trace in a record that was read already.
 * @param {any} record
 * @param {string} name
 */
export function traceOf(record, name) {
  const version = record?.format_version;
  if (!Number.isInteger(version)) {
    throw new OpenError(
      `${name} is not a trace (it has no format_version): choose a ${SUFFIX} file that Medusa Explorer saved.`,
    );
  }
  if (version < FORMAT_VERSION) {
    throw new OpenError(
      `${name} was saved by an earlier Medusa Explorer (format ${version}): open it in the app, which upgrades it.`,
    );
  }
  if (version !== FORMAT_VERSION) {
    throw new OpenError(
      `${name} needs a Medusa Explorer that reads trace format ${version}; this one reads format ${FORMAT_VERSION}: open it with the version that saved it.`,
    );
  }
  if (isTooLong(record)) {
    throw new OpenError(
      `${name} has a lane of more than ${MAX_STEPS.toLocaleString("en")} steps, which no run has: choose a ${SUFFIX} file that Medusa Explorer saved.`,
    );
  }
  const fault = firstFault(record);
  if (fault) {
    throw new OpenError(
      `${name} does not hold a valid trace (${fault}): save it again from Medusa Explorer.`,
    );
  }
  return Trace.of(record);
}

/**
 * Decompress at most MAX_BYTES: a bomb is refused while it inflates.
 * @param {Blob} file
 * @param {string} name
 */
async function inflated(file, name) {
  const reader = file.stream().pipeThrough(new DecompressionStream("gzip")).getReader();
  /** @type {Uint8Array<ArrayBuffer>[]} */
  const chunks = [];
  let bytes = 0;
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      bytes += part.value.length;
      if (bytes > MAX_BYTES) break;
      chunks.push(part.value);
    }
  } catch {
    throw new OpenError(
      `${name} is damaged, cut short or not a gzip file: choose a ${SUFFIX} file that Medusa Explorer saved.`,
    );
  }
  if (bytes > MAX_BYTES) {
    reader.cancel().catch(() => {});
    throw tooLarge(name);
  }
  return new Blob(chunks).text();
}

/**
 * @param {string} text
 * @param {string} name
 */
function parsed(text, name) {
  try {
    return JSON.parse(text);
  } catch {
    throw new OpenError(
      `${name} does not contain JSON: choose a ${SUFFIX} file that Medusa Explorer saved.`,
    );
  }
}

/** @param {string} name */
const tooLarge = (name) =>
  new OpenError(
    `${name} is larger than ${MAX_BYTES / 2 ** 20} MB: record a shorter run or a smaller tree.`,
  );
