// Plays a run on the lanes' own clock, at a factor of recorded time or a step a second.

/**
 * @import { Explorer } from "./main.js"
 * @import { Trace } from "./trace.js"
 */

/** @type {[factor: string, name: string][]} */
export const SPEEDS = [
  ["step", "1 step a second"],
  ["0.01", "measured pace ×1/100"],
  ["0.02", "measured pace ×1/50"],
  ["0.05", "measured pace ×1/20"],
  ["0.1", "measured pace ×1/10"],
  ["0.25", "measured pace ×¼"],
  ["0.5", "measured pace ×½"],
  ["1", "measured pace ×1"],
  ["2", "measured pace ×2"],
  ["4", "measured pace ×4"],
];

const WATCHED = 5; // seconds that the eye needs for a race
const SLOWER = ["0.5", "0.25", "0.1", "0.05", "0.02", "0.01"];

/**
 * The paces at which a race of so many seconds is offered: as measured, and two slower ones, the last
 * slow enough to be watched.
 * @param {number} seconds
 */
export function pacesOf(seconds) {
  const enough = SLOWER.findIndex((pace) => seconds / Number(pace) >= WATCHED);
  const last = enough < 0 ? SLOWER.length - 1 : Math.max(1, enough);
  return ["1", SLOWER[last - 1], SLOWER[last]];
}

/**
 * A pace in a word: ×¼.
 * @param {string} pace
 */
export const paceName = (pace) =>
  SPEEDS.find(([speed]) => speed === pace)?.[1].replace("measured pace ", "") ?? "";

export class Playback {
  /** @type {number} */
  #frame = 0;
  #last = 0;

  /** @param {Explorer} app */
  constructor(app) {
    this.app = app;
  }

  toggle() {
    if (this.app.state.playing) this.stop();
    else this.start();
  }

  /** @param {number | null} from seconds; null: from the step on view, or again from the start */
  start(from = null) {
    const { app } = this;
    const { trace, state } = app;
    if (state.step === null) return;
    cancelAnimationFrame(this.#frame);
    from ??= state.step === trace.newest ? 0 : trace.clock[state.step];
    app.store.set({
      playing: true,
      resting: false,
      follow: false,
      clock: from,
      step: trace.stepAt(from),
      row: null,
    });
    this.#last = performance.now();
    this.#frame = requestAnimationFrame((now) => this.#tick(now));
  }

  stop() {
    cancelAnimationFrame(this.#frame);
    this.app.store.set({ playing: false, clock: null });
  }

  /** Play a run so slowly that its race can be watched; a step a second, where that was chosen. */
  settle() {
    const { state, trace } = this.app;
    if (state.speed !== "step") this.app.store.set({ speed: pacesOf(trace.seconds)[2] });
  }

  /**
   * A slower or faster speed.
   * @param {number} by
   */
  shift(by) {
    const at = SPEEDS.findIndex(([speed]) => speed === this.app.state.speed);
    const next = Math.max(0, Math.min(SPEEDS.length - 1, at + by));
    this.app.store.set({ speed: SPEEDS[next][0] });
  }

  /** @param {number} now */
  #tick(now) {
    const { app } = this;
    const { trace, state } = app;
    if (!state.playing || state.clock === null) return;
    const passed = (now - this.#last) / 1000;
    this.#last = now;
    const clock = state.clock + passed * this.#rate(trace, state.clock);
    if (clock >= trace.seconds) {
      const step = trace.tellingStep;
      app.store.set({ playing: false, clock: null, step, row: null, resting: true });
      return;
    }
    const step = trace.stepAt(clock);
    app.store.set(step === state.step ? { clock } : { clock, step, row: null, hover: null });
    this.#frame = requestAnimationFrame((later) => this.#tick(later));
  }

  /**
   * Recorded seconds that pass in a second of watching.
   * @param {Trace} trace
   * @param {number} clock
   */
  #rate(trace, clock) {
    if (this.app.state.speed !== "step") return Number(this.app.state.speed);
    const at = trace.clock.findIndex((time) => time > clock + 1e-9);
    if (at < 0) return 0.5; // the plain lane still writes
    return trace.clock[at] - (trace.clock[at - 1] ?? 0);
  }
}
