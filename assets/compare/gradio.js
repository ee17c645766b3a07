// Runs inside gr.HTML (js_on_load): mounts the Compare page and hands it every message, in order.
/** @import { CompareRequest } from "../../types/page.js" */

// Of the app's own address only the path holds: a proxy may change scheme, host and port.
const { pathname } = new URL(window.gradio_config?.root ?? "/", location.href);
const root = `${location.origin}${pathname.replace(/\/$/, "")}/`;
/** @type {string[]} */
const waiting = [];
/** @type {import("./main.js").ComparePage | null} */
let page = null;

watch("value", () => {
  if (!props.value) return;
  if (page) page.receive(props.value);
  else waiting.push(props.value);
});

import(`${root}compare-files/main.js`).then(async ({ mount }) => {
  const mounted = await mount(element, JSON.parse(props.setup), {
    compare: (/** @type {CompareRequest} */ request) => trigger("submit", request),
    cancel: () => trigger("stop"),
    missed: async (/** @type {string} */ run, /** @type {number} */ first) =>
      JSON.parse(await server.missed_events(run, first)),
  });
  page = mounted;
  element.compare = mounted;
  for (const message of waiting.splice(0)) mounted.receive(message);
});
