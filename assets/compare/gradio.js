// Runs inside gr.HTML (js_on_load): mounts the Compare page and hands it every message, in order.
// Of the app's own address only the path holds: a proxy may change scheme, host and port.
const { pathname } = new URL(window.gradio_config?.root ?? "/", location.href);
const root = `${location.origin}${pathname.replace(/\/$/, "")}/`;
const waiting = [];
let page = null;

watch("value", () => {
  if (!props.value) return;
  if (page) page.receive(props.value);
  else waiting.push(props.value);
});

import(`${root}compare-files/main.js`).then(async ({ mount }) => {
  page = await mount(element, JSON.parse(props.setup), {
    compare: (request) => trigger("submit", request),
    cancel: () => trigger("stop"),
    missed: async (run, first) => JSON.parse(await server.missed_events(run, first)),
  });
  element.compare = page;
  waiting.splice(0).forEach((message) => page.receive(message));
});
