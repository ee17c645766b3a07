// Explore without a server: the recorded runs, and files that a reader opens.

import { followColours } from "../step_explorer/colours.js";
import { mount } from "../step_explorer/main.js";

const place = globalThis.document?.getElementById("sx");
if (place) {
  followColours();
  mount(place).then((explorer) => {
    Object.assign(window, { explorer });
    return explorer.useGallery(new URL("../traces/", import.meta.url));
  });
}
