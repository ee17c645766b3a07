// Looking at a step of a run: which step and row is on view, and what the pointer is on. The whole
// step explorer does that, and so does a single picture of it.

import { Store } from "./store.js";
import { Trace } from "./trace.js";
import { View } from "./verdicts.js";

const PRESENTED = 0.026 / 13; // of the window's height: presenter.css has the same for type

export class Looking {
  store = new Store();
  trace = new Trace();
  /** @type {View | null} */
  #view = null;

  get state() {
    return this.store.state;
  }

  /** The step on view; null before there is one. */
  get view() {
    const { step } = this.state;
    if (step === null) return null;
    if (this.#view?.trace !== this.trace || this.#view.index !== step)
      this.#view = new View(this.trace, step);
    return this.#view;
  }

  /** The selected row; while none is selected, the one that says most. */
  get row() {
    const { view } = this;
    if (!view) return 0;
    const { row, stage } = this.state;
    if (row !== null && row < view.rows) return row;
    return stage > 3 ? view.tellingRow : 0;
  }

  /** The row under the pointer, else the selected one; and its line from the root. */
  get focusRow() {
    const { hover } = this.state;
    return hover !== null && this.view && hover < this.view.rows ? hover : this.row;
  }

  get focusLine() {
    return this.view ? this.view.line(this.focusRow) : [];
  }

  /** Scale of type and shapes in pictures. */
  get unit() {
    return this.state.presenter ? Math.max(1, PRESENTED * innerHeight) : 1;
  }

  /** @param {number} row */
  select(row) {
    this.store.set({ row, follow: false });
  }
}
