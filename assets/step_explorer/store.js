// What is on view. Views subscribe and learn once a frame which keys have changed.

export const LAST_STAGE = 5; // draft, tree, mask, verify, accept, commit
export const ACCEPT_STAGE = 4;
export const COINS_STAGE = 3.5; // of rejection sampling alone: between verify and accept

/** What views can ask about besides the state: a new trace, more of it, weights, the gallery. */
const NEWS = /** @type {const} */ (["trace", "grown", "attention", "gallery"]);

/**
 * @typedef {object} State
 * @property {number | null} step 0-based; null: there is none yet
 * @property {number | null} row the selected row; null: the one that says most
 * @property {number | null} hover the row under the pointer
 * @property {boolean} follow keep to the newest step
 * @property {boolean} live the run is still in progress
 * @property {boolean} playing
 * @property {boolean} resting after a race: all of it is shown, with the step that says most
 * @property {string} speed a factor of recorded time, or one step a second
 * @property {number | null} clock seconds on the lanes' clock while it plays
 * @property {number} stage how much of the step is revealed
 * @property {boolean} presenter
 * @property {"mask" | "additive" | "weights"} form of the mask: itself, 0 and −∞, or attention
 * @property {number | null} layer of the attention weights, from 0; null: what is at hand
 * @property {number | null} head
 * @property {boolean} prefixOpen the mask's prefix column expanded
 * @property {boolean} table the table of nodes in place of the verdict
 * @property {string | null} source where the run comes from, in words
 * @property {string | null} problem what went wrong last, one sentence
 *
 * @typedef {keyof State | (typeof NEWS)[number]} Key
 * @typedef {(...keys: Key[]) => boolean} Any whether one of these has changed
 * @typedef {(any: Any) => unknown} Subscriber
 */

export class Store {
  /** @type {State} */
  state = {
    step: null,
    row: null,
    hover: null,
    follow: true,
    live: false,
    playing: false,
    resting: false,
    speed: "0.25",
    clock: null,
    stage: LAST_STAGE,
    presenter: false,
    form: "mask",
    layer: null,
    head: null,
    prefixOpen: false,
    table: false,
    source: null,
    problem: null,
  };
  /** @type {Set<Key>} */
  #changed = new Set();
  /** @type {Subscriber[]} */
  #views = [];
  /** @type {number | null} */
  #frame = null;
  /** @type {(() => unknown)[]} */
  #last = [];

  /** @param {Subscriber} view */
  subscribe(view) {
    this.#views.push(view);
  }

  /**
   * Change some of the state.
   * @param {Partial<State>} values
   */
  set(values) {
    for (const key of /** @type {(keyof State)[]} */ (Object.keys(values))) {
      if (this.state[this.#known(key)] === values[key]) continue;
      Object.assign(this.state, { [key]: values[key] });
      this.#changed.add(key);
    }
    if (this.#changed.size) this.#schedule();
  }

  /**
   * Notify the views that something other than the state has changed.
   * @param {(typeof NEWS)[number]} key
   */
  touch(key) {
    this.#changed.add(this.#known(key));
    this.#schedule();
  }

  /** Draw at once what waits for the next frame. */
  flush() {
    if (this.#frame !== null) cancelAnimationFrame(this.#frame);
    this.#frame = null;
    const changed = this.#changed;
    this.#changed = new Set();
    /** @type {Any} */
    const any = (...keys) => keys.map((key) => this.#known(key)).some((key) => changed.has(key));
    if (changed.size) this.#views.forEach((view) => view(any));
    const last = this.#last;
    this.#last = [];
    last.forEach((action) => action());
  }

  /**
   * Do something once all views are drawn: what reads places on the page must not come between
   * their writes, or the browser lays the page out again and again.
   * @param {() => unknown} action
   */
  afterwards(action) {
    this.#last.push(action);
  }

  /**
   * A misspelt key would be silence: it is an error.
   * @template {Key} K
   * @param {K} key
   */
  #known(key) {
    const known = Object.hasOwn(this.state, key) || NEWS.some((one) => one === key);
    if (!known) throw new TypeError(`the store has no key “${key}”`);
    return key;
  }

  #schedule() {
    this.#frame ??= requestAnimationFrame(() => this.flush());
  }
}
