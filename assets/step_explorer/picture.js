// A card that holds an SVG picture: it scrolls inside, zooms, and pans by dragging.

import { card } from "./card.js";
import { button, replace } from "./dom.js";

/** @import { Child } from "./dom.js" */

const STEP = 1.3;
const [LEAST, MOST] = [0.3, 5];

/** @param {Element} box */
const measured = ({ clientWidth: width, clientHeight: height }) => ({ width, height });

export class Picture {
  zoom = 1;
  /** @type {SVGSVGElement | null} */
  svg = null;
  size = { width: 400, height: 240 };

  /**
   * @param {string} name
   * @param {string} title
   * @param {string} hint
   * @param {(picture: Picture) => SVGSVGElement} draw a new SVG for the present zoom and size
   * @param {{ zooms?: boolean, tools?: Child[] }} [options] `zooms`: offer the buttons
   */
  constructor(name, title, hint, draw, { zooms = true, tools = [] } = {}) {
    this.draw = draw;
    const zoomTools = zooms
      ? [
          button("−", `${title}: smaller`, () => this.setZoom(this.zoom / STEP)),
          button("+", `${title}: larger`, () => this.setZoom(this.zoom * STEP)),
          button("fit", `${title}: whole picture`, () => this.setZoom(this.fitting())),
        ]
      : [];
    const made = card(name, title, hint, ...tools, ...zoomTools);
    this.element = made.element;
    this.title = made.title;
    this.note = made.note;
    this.tools = made.tools;
    this.box = this.element.appendChild(document.createElement("div"));
    this.box.className = "sx-box";
    if (zooms) this.#listen();
    new ResizeObserver(([{ contentRect }]) => {
      // Kept, because asking the page for it while drawing would lay it out each time.
      this.size = { width: Math.floor(contentRect.width), height: Math.floor(contentRect.height) };
      if (this.size.width > 0) this.redraw();
    }).observe(this.box);
  }

  redraw() {
    if (this.size.width <= 0) this.size = measured(this.box); // it may have come into view just now
    if (this.size.width <= 0 || this.size.height <= 0) return; // it is not on view
    const svg = this.draw(this);
    if (svg === this.svg) return;
    this.svg = svg;
    replace(this.box, svg);
    this.box.tabIndex = this.#overflows() ? 0 : -1; // what scrolls can be reached by keyboard
  }

  /** @param {number} zoom */
  setZoom(zoom) {
    this.zoom = Math.max(LEAST, Math.min(MOST, zoom));
    this.redraw();
  }

  /** The zoom at which the whole picture is in sight. */
  fitting() {
    if (!this.svg) return 1;
    const { width, height } = this.size;
    const shown = this.svg.viewBox.baseVal;
    return this.zoom * Math.min(height / shown.height, Math.max(1, width / shown.width));
  }

  #overflows() {
    if (!this.svg) return false;
    const { width, height } = this.svg.viewBox.baseVal;
    return width > this.size.width || height > this.size.height;
  }

  #listen() {
    const { box } = this;
    /** @type {{ x: number, y: number } | null} */
    let from = null; // where the mouse was pressed
    box.addEventListener(
      "wheel",
      (event) => {
        if (!event.ctrlKey) return;
        event.preventDefault();
        this.setZoom(this.zoom * (event.deltaY < 0 ? STEP : 1 / STEP));
      },
      { passive: false },
    );
    box.addEventListener("pointerdown", (event) => {
      if (event.pointerType !== "mouse" || event.button !== 0) return;
      from = { x: event.clientX + box.scrollLeft, y: event.clientY + box.scrollTop };
    });
    box.addEventListener("pointermove", (event) => {
      if (!from || event.buttons === 0) return;
      box.scrollTo(from.x - event.clientX, from.y - event.clientY);
    });
    window.addEventListener("pointerup", () => {
      from = null;
    });
  }
}
