// Saves a run: as a trace, or as one HTML file that holds the explorer itself and opens offline.

import { base64, download } from "./dom.js";
import { SUFFIX } from "./open.js";
import { STYLES } from "./styles.js";

/** @import { Trace } from "./trace.js" */

const IMPORT = /from\s+"\.\/([\w-]+\.js)"/g;

/** @param {Trace} trace */
export async function saveTrace(trace) {
  const text = new Blob([JSON.stringify(trace.record())]);
  const stream = text.stream().pipeThrough(new CompressionStream("gzip"));
  download(`medusa-trace-${stamp()}${SUFFIX}`, await new Response(stream).blob());
}

/** @param {Trace} trace */
export async function saveHtml(trace) {
  download(
    `medusa-run-${stamp()}.html`,
    new Blob([await standalone(trace)], { type: "text/html" }),
  );
}

/**
 * The text of a page with all modules, styles and the trace inside.
 * @param {Trace} trace
 */
export async function standalone(trace) {
  const modules = await sources("main.js");
  const styles = (await Promise.all(STYLES.map(fetched))).join("\n");
  /** @type {Record<string, string>} */
  const imports = {};
  for (const [name, source] of modules) {
    const renamed = source.replace(IMPORT, (_, other) => `from "sx/${other}"`);
    imports[`sx/${name}`] =
      `data:text/javascript;base64,${base64(new TextEncoder().encode(renamed))}`;
  }
  // "<" never appears in the JSON, so no text in it can end the script element.
  const json = (/** @type {unknown} */ value) => JSON.stringify(value).replaceAll("<", "\\u003c");
  return [
    '<!doctype html><html lang="en"><head><meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    `<title>Medusa Explorer: a recorded run</title><style>${styles}</style>`,
    `<script type="importmap">${json({ imports })}</script></head>`,
    '<body class="sx-page"><main id="sx"></main>',
    `<script type="application/json" id="trace">${json(trace.record())}</script>`,
    '<script type="module">import { standalone } from "sx/main.js";',
    'window.explorer = standalone(document.getElementById("sx"), document.getElementById("trace").textContent);',
    "</script></body></html>",
  ].join("\n");
}

/**
 * A module and all that it imports, each once.
 * @param {string} first
 */
async function sources(first) {
  /** @type {Map<string, string>} */
  const found = new Map();
  const waiting = [first];
  for (const name of waiting) {
    if (found.has(name)) continue;
    const source = await fetched(name);
    found.set(name, source);
    for (const [, other] of source.matchAll(IMPORT)) waiting.push(other);
  }
  return found;
}

/** @param {string} name */
async function fetched(name) {
  const answer = await fetch(new URL(name, import.meta.url));
  if (!answer.ok) throw new Error(`${name} could not be read`);
  return answer.text();
}

const stamp = () => new Date().toISOString().slice(0, 19).replace(/[-:]/g, "").replace("T", "-");
