// Runs inside gr.HTML (js_on_load): the line that says what this is goes away for good when asked.
const KEY = "medusa-explorer-intro-read";
const line = /** @type {HTMLElement | null} */ (element.querySelector(".mx-intro"));
try {
  if (line && localStorage.getItem(KEY)) line.hidden = true;
} catch {
  // no storage here: the line comes again with the next visit
}
line?.querySelector("button")?.addEventListener("click", () => {
  line.hidden = true;
  try {
    localStorage.setItem(KEY, "1");
  } catch {
    // as above
  }
});
