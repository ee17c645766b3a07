// Pictures as files: the SVG with its computed styles written into it, and a PNG made from that.

import { download } from "./dom.js";

const STYLES = [
  "fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-linejoin",
  "opacity", "paint-order", "font-family", "font-size", "font-weight", "text-anchor", "visibility", "display",
];
const PNG_SCALE = 2;

/** The text of a file that shows the picture as it is now, in the colours on screen. */
export function svgText(svg) {
  const copy = svg.cloneNode(true);
  const [from, to] = [svg.querySelectorAll("*"), copy.querySelectorAll("*")];
  from.forEach((element, i) => {
    const style = getComputedStyle(element);
    const kept = STYLES.map((name) => `${name}:${style.getPropertyValue(name)}`).join(";");
    to[i].setAttribute("style", kept);
    for (const name of ["tabindex", "role"]) to[i].removeAttribute(name);
  });
  const { width, height } = svg.viewBox.baseVal;
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("width", width);
  copy.setAttribute("height", height);
  const ground = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  ground.setAttribute("width", "100%");
  ground.setAttribute("height", "100%");
  ground.setAttribute("fill", getComputedStyle(svg.closest(".sx")).getPropertyValue("--sx-ground"));
  copy.prepend(ground);
  return new XMLSerializer().serializeToString(copy);
}

export function saveSvg(svg, name) {
  download(`medusa-${name}.svg`, new Blob([svgText(svg)], { type: "image/svg+xml" }));
}

export async function savePng(svg, name) {
  const { width, height } = svg.viewBox.baseVal;
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svgText(svg))}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = width * PNG_SCALE;
  canvas.height = height * PNG_SCALE;
  const context = canvas.getContext("2d");
  context.scale(PNG_SCALE, PNG_SCALE);
  context.drawImage(image, 0, 0, width, height);
  canvas.toBlob((blob) => download(`medusa-${name}.png`, blob), "image/png");
}
