// Every module can be imported without a page: nothing at its top level asks for one.

import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { test } from "node:test";

const ASSETS = new URL("../../assets/", import.meta.url);
const SNIPPET = "gradio.js"; // no module: it runs inside gr.HTML

for (const folder of ["step_explorer", "compare", "learn"]) {
  test(`${folder} imports without a page`, async () => {
    const files = await readdir(new URL(folder, ASSETS));
    const modules = files.filter((name) => name.endsWith(".js") && name !== SNIPPET);
    assert.ok(modules.length > 5);
    for (const name of modules) await import(new URL(`${folder}/${name}`, ASSETS));
  });
}
