// Runs inside gr.HTML (js_on_load): the title of Continue says what it does, or why it is off.
const show = () => {
  const button = /** @type {HTMLElement | null} */ (document.querySelector("#mx-continue"));
  if (button) button.title = props.value;
  else requestAnimationFrame(show); // the page is still being built
};
watch("value", show);
show();
