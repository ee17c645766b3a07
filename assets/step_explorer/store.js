// What is on view. Views subscribe and are told, once a frame, which keys have changed.

export const LAST_STAGE = 5; // draft, tree, mask, verify, accept, commit

export class Store {
  state = {
    step: null, // 0-based; null: there is none yet
    row: null, // the selected row; null: the one that says most
    hover: null, // the row under the pointer
    follow: true, // keep to the newest step
    live: false, // the run still goes on
    playing: false,
    speed: "step", // a factor of recorded time, or one step a second
    clock: null, // seconds on the lanes' clock while it plays
    stage: LAST_STAGE, // how much of the step is revealed
    presenter: false,
    form: "mask", // of the mask: itself, "additive" (0 and −∞) or attention "weights"
    layer: null, // of the attention weights, from 0; null: what the trace or the model offers
    head: null,
    prefixOpen: false, // the mask's prefix column expanded
    table: false, // the table of nodes in place of the verdict
    source: null, // where the run comes from, in words
    problem: null, // what went wrong last, one sentence
  };
  #changed = new Set();
  #views = [];
  #frame = null;
  #last = [];

  subscribe(view) {
    this.#views.push(view);
  }

  /** Change some of the state. */
  set(values) {
    for (const [key, value] of Object.entries(values)) {
      if (this.state[key] === value) continue;
      this.state[key] = value;
      this.#changed.add(key);
    }
    if (this.#changed.size) this.#schedule();
  }

  /** Tell the views that something other than the state has changed: "trace", "grown" or "attention". */
  touch(key) {
    this.#changed.add(key);
    this.#schedule();
  }

  /** Draw at once what waits for the next frame. */
  flush() {
    cancelAnimationFrame(this.#frame);
    this.#frame = null;
    const changed = this.#changed;
    this.#changed = new Set();
    const any = (...keys) => keys.some((key) => changed.has(key));
    if (changed.size) this.#views.forEach((view) => view(any));
    const last = this.#last;
    this.#last = [];
    last.forEach((action) => action());
  }

  /** Do something once all views are drawn: what reads places on the page must not come between
   *  their writes, or the browser lays the page out again and again. */
  afterwards(action) {
    this.#last.push(action);
  }

  #schedule() {
    this.#frame ??= requestAnimationFrame(() => this.flush());
  }
}
