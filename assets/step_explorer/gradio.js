// Runs inside gr.HTML (js_on_load): mounts the explorer and hands it every value, in order.
/**
 * @import { AttentionQuestion } from "../../types/records.js"
 * @import { Example } from "../../types/page.js"
 */

// Of the app's own address only the path holds: a proxy may change scheme, host and port.
const { pathname } = new URL(window.gradio_config?.root ?? "/", location.href);
const root = `${location.origin}${pathname.replace(/\/$/, "")}/`;
/** @type {string[]} */
const waiting = [];
/** @type {import("./main.js").Explorer | null} */
let explorer = null;

watch("value", () => {
  const message = props.value;
  if (!message) return;
  if (explorer) explorer.receive(message);
  else waiting.push(message);
});

import(`${root}step_explorer/main.js`).then(async ({ mount }) => {
  const mounted = await mount(element, {
    missed: async (/** @type {string} */ run, /** @type {number} */ first) =>
      JSON.parse(await server.missed_events(run, first)).events,
    attention: async (/** @type {AttentionQuestion} */ question) =>
      JSON.parse(await server.attention_weights(JSON.stringify(question))),
    upgrade: async (/** @type {string} */ file) => JSON.parse(await server.upgraded_trace(file)),
    leave: () => trigger("clear"),
    fill: (/** @type {Example} */ { name }) => trigger("select", { name }),
    ...(props.able === "run" && {
      run: (/** @type {string} */ prompt, /** @type {object} */ settings) =>
        trigger("submit", { prompt, settings }),
    }),
  });
  explorer = mounted;
  element.explorer = mounted;
  for (const message of waiting.splice(0)) mounted.receive(message);
  mounted.useGallery(new URL("traces/", root));
});
