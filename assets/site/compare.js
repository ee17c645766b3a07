// Compare without a server: the recorded comparison.

import { mount } from "../compare/main.js";
import { followColours } from "../step_explorer/colours.js";

const place = globalThis.document?.getElementById("cx");
const setup = globalThis.document?.getElementById("cx-setup")?.textContent;
if (place && setup) {
  followColours();
  mount(place, JSON.parse(setup), {
    compare: () => {},
    cancel: () => {},
    missed: () => Promise.reject(new Error("nothing runs here")),
  }).then((page) => Object.assign(window, { compare: page }));
}
