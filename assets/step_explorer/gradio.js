// Runs inside gr.HTML (js_on_load): mounts the explorer and hands it every value, in order.
// Of the app's own address only the path holds: a proxy may change scheme, host and port.
const { pathname } = new URL(window.gradio_config?.root ?? "/", location.href);
const root = `${location.origin}${pathname.replace(/\/$/, "")}/`;
const waiting = [];
let explorer = null;

watch("value", () => {
  const message = props.value;
  if (!message) return;
  if (explorer) explorer.receive(message);
  else waiting.push(message);
});

import(`${root}step_explorer/main.js`).then(async ({ mount }) => {
  explorer = await mount(element, {
    missed: async (run, first) => JSON.parse(await server.missed_events(run, first)).events,
    attention: async (question) =>
      JSON.parse(await server.attention_weights(JSON.stringify(question))),
  });
  element.explorer = explorer;
  waiting.splice(0).forEach((message) => explorer.receive(message));
  explorer.useGallery(new URL("traces/", root));
});
