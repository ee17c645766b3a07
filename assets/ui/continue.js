// Runs inside gr.HTML (js_on_load): tells in the title of Continue what it does, or why it is off.
const tell = () => {
  document.querySelector("#mx-continue").title = props.value;
};
watch("value", tell);
tell();
