// Every card as a picture file: an SVG that needs nothing else, and a PNG made from it.

import { download, select } from "./dom.js";
import { painted } from "./paint.js";

const LEFT_OUT = ".sx-tools, button, select, .sx-unseen"; // controls, and what is only read aloud
const PNG_SCALE = 2;
const [LONGEST, LARGEST] = [16_000, 1.2e8]; // sides and pixels that every browser's canvas takes
// XML has no way to write these characters.
const UNWRITABLE = /[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu;

/**
 * The list that saves a card as a picture, for its tools.
 * @param {HTMLElement} card
 * @param {string} name
 * @param {string} title
 */
export function saving(card, name, title) {
  /** @type {[string, string][]} */
  const options = [
    ["", "⤓"],
    ["svg", "Save as SVG"],
    ["png", "Save as PNG"],
  ];
  const list = select(`${title}: save the picture`, options, "", (format) => {
    list.value = "";
    if (format === "svg") saveSvg(card, name, title);
    else if (format === "png") savePng(card, name, title);
  });
  list.className = "sx-save";
  return list;
}

/**
 * @param {HTMLElement} card
 * @param {string} name
 * @param {string} title
 */
function saveSvg(card, name, title) {
  download(
    `medusa-${name}.svg`,
    new Blob([textOf(drawing(card, title))], { type: "image/svg+xml" }),
  );
}

/**
 * @param {HTMLElement} card
 * @param {string} name
 * @param {string} title
 */
async function savePng(card, name, title) {
  const svg = drawing(card, title);
  const { width, height } = svg.viewBox.baseVal;
  const scale = Math.min(
    PNG_SCALE,
    LONGEST / Math.max(width, height),
    Math.sqrt(LARGEST / (width * height)),
  );
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(textOf(svg))}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = width * scale;
  canvas.height = height * scale;
  canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
  canvas.toBlob((blob) => blob && download(`medusa-${name}.png`, blob), "image/png");
}

/** @param {SVGElement} svg */
const textOf = (svg) => new XMLSerializer().serializeToString(svg).replace(UNWRITABLE, "\u{fffd}");

/**
 * The card as it is now. A copy is drawn, beside the page, so that nothing in it has to scroll.
 * @param {HTMLElement} card
 * @param {string} title
 */
function drawing(card, title) {
  const copy = /** @type {HTMLElement} */ (card.cloneNode(true));
  copy.classList.add("sx-copy");
  copy.style.width = `${card.offsetWidth}px`;
  copy.querySelectorAll(LEFT_OUT).forEach((tool) => tool.remove());
  card.closest(".sx")?.append(copy);
  try {
    return painted(copy, title);
  } finally {
    copy.remove();
  }
}
