// What the page says of a link that sets something beside the recorded run on view.

import assert from "node:assert/strict";
import { test } from "node:test";
import { settingsSaid } from "../../assets/step_explorer/gallery.js";
import { wantedFrom } from "../../assets/step_explorer/permalink.js";

test("a link that sets the tree says that it is set, and what to do", () => {
  const said = settingsSaid(wantedFrom("#example=code&tree=[[0],[0,0]]").settings);
  assert.equal(
    said,
    "This link’s tree is set: press Run to try it. Until then this is a recorded run.",
  );
  assert.equal(settingsSaid(wantedFrom("#trace=code&step=3").settings), "");
});
