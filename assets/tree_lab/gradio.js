// Runs inside gr.HTML (js_on_load): a click or Enter on a node sends its rank path to the server.

/** @param {Event} event */
function choose(event) {
  const mark = /** @type {Element} */ (event.target).closest("[data-path]");
  if (!(mark instanceof SVGElement)) return;
  event.preventDefault();
  trigger("submit", { node: mark.dataset.path });
}

element.addEventListener("click", choose);
element.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
  if (event.key === "Enter" || event.key === " ") choose(event);
});
