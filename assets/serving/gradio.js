// Runs inside gr.HTML (js_on_load): mounts the steps of a served request and hands it each message.

// Of the app's own address only the path holds: a proxy may change scheme, host and port.
const { pathname } = new URL(window.gradio_config?.root ?? "/", location.href);
const root = `${location.origin}${pathname.replace(/\/$/, "")}/`;
/** @type {import("./main.js").ServedSteps | null} */
let steps = null;

watch("value", () => {
  if (props.value) steps?.receive(props.value);
});

import(`${root}serving/main.js`).then(async ({ mount }) => {
  const mounted = await mount(element);
  steps = mounted;
  element.steps = mounted;
  if (props.value) mounted.receive(props.value);
});
