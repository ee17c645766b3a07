import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { Store } from "../../assets/step_explorer/store.js";

beforeEach(() => {
  globalThis.requestAnimationFrame = () => 1;
  globalThis.cancelAnimationFrame = () => {};
});

/** A store, and what its one view learnt: for each drawing, which of these keys had changed. */
function watched(...keys) {
  const [store, heard] = [new Store(), []];
  store.subscribe((any) => heard.push(keys.filter((key) => any(key))));
  return { store, heard };
}

test("a view learns once a frame what has changed", () => {
  const { store, heard } = watched("step", "row", "trace");
  store.set({ step: 1 });
  store.set({ step: 2, row: 3 });
  store.touch("trace");
  store.flush();
  store.flush();
  assert.deepEqual(heard, [["step", "row", "trace"]]);
  assert.equal(store.state.step, 2);
});

test("a value set again is no change", () => {
  const { store, heard } = watched("step");
  store.set({ step: null, live: false });
  store.flush();
  assert.deepEqual(heard, []);
});

test("what is done afterwards comes when all views are drawn", () => {
  const order = [];
  const store = new Store();
  store.subscribe(() => store.afterwards(() => order.push("afterwards")));
  store.subscribe(() => order.push("view"));
  store.touch("grown");
  store.flush();
  assert.deepEqual(order, ["view", "afterwards"]);
});

test("a misspelt key is an error wherever it stands", () => {
  const store = new Store();
  const misspelt = /no key “stp”/;
  assert.throws(() => store.set({ stp: 1 }), misspelt);
  assert.throws(() => store.touch("stp"), misspelt);
  store.subscribe((any) => any("step", "stp"));
  store.set({ step: 1 });
  assert.throws(() => store.flush(), misspelt);
});
