// Keeps the tokens of the step on view visible inside the lane; the page itself never scrolls.
const lane = element.closest(".html-container") ?? element.parentElement;

watch("value", () => {
  const tokens = element.querySelectorAll(".now");
  if (tokens.length === 0) return;
  const box = lane.getBoundingClientRect();
  const first = tokens[0].getBoundingClientRect();
  const last = tokens[tokens.length - 1].getBoundingClientRect();
  if (first.top < box.top) lane.scrollTop -= box.top - first.top + 8;
  else if (last.bottom > box.bottom) lane.scrollTop += last.bottom - box.bottom + 8;
});
