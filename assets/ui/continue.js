// Runs inside gr.HTML (js_on_load): tells in the title of Continue what it does, or why it is off.
const tell = () => {
  const button = /** @type {HTMLElement | null} */ (document.querySelector("#mx-continue"));
  if (button) button.title = props.value;
  else requestAnimationFrame(tell); // the page is still being built
};
watch("value", tell);
tell();
