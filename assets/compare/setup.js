// What to compare: methods, prompts and settings.

import { button, h } from "../step_explorer/dom.js";
import { plural } from "../step_explorer/numbers.js";
import { badge } from "./methods.js";
import { promptsView } from "./prompts.js";

/**
 * @import { ComparePage } from "./main.js"
 * @import { CompareRequest, CompareSetup } from "../../types/page.js"
 */

/** @param {ComparePage} page */
export function setupView(page) {
  const { setup } = page;
  const methods = methodBoxes(page);
  const prompts = promptsView(setup, showCount);
  const settings = settingInputs(setup);
  const start = h(
    "button",
    {
      type: "submit",
      class: "cx-primary",
      title: "Race every chosen method against plain decoding",
    },
    "Compare",
  );
  const cancel = button(
    "Cancel",
    "End the comparison; finished prompts stay",
    () => page.server.cancel(),
    { class: "cx-cancel" },
  );
  const recorded = button(
    "recorded",
    "Show a comparison that was recorded, instead of measuring one",
    () => page.openRecorded(),
  );
  const count = h("p", { class: "cx-count", "aria-live": "polite" });
  const element = h(
    "form",
    { class: "sx-card cx-setup", "aria-label": "What to compare", onsubmit: submit },
    fieldset("Methods", methods.element),
    fieldset("Prompts", prompts.element),
    fieldset(
      "Settings",
      settings.element,
      h("div", { class: "cx-actions" }, start, cancel, recorded),
      count,
    ),
  );

  /** @param {Event} event */
  function submit(event) {
    event.preventDefault();
    if (!start.disabled) page.compare(asked());
  }

  /** @returns {CompareRequest} */
  const asked = () => ({ methods: methods.chosen(), ...prompts.asked(), ...settings.asked() });

  function showCount() {
    const racing = methods.chosen().length - 1;
    const given = prompts.count();
    const many = given > setup.maxPrompts ? ` (at most ${setup.maxPrompts} here)` : "";
    count.textContent = `${plural(given, "prompt")}${many} × ${plural(racing, "method")} and plain`;
  }

  function update() {
    const { comparison } = page;
    const off = comparison.engine.phase === "failed";
    start.disabled = comparison.live || off;
    cancel.disabled = !comparison.live;
    recorded.disabled = comparison.live;
    showCount();
  }
  return { element, update, asked, live: true };
}

/**
 * @param {string} title
 * @param {Element[]} inside
 */
function fieldset(title, ...inside) {
  return h("fieldset", {}, h("legend", {}, title), ...inside);
}

/** @param {ComparePage} page */
function methodBoxes(page) {
  const boxes = page.setup.methods.map(({ name, explanation, memory, source }) => {
    const plain = name === "plain";
    const title = `${explanation} Memory: ${memory}. ${source}`;
    const box = h("input", {
      type: "checkbox",
      value: name,
      checked: true,
      disabled: plain,
      onchange: () => page.choose(chosen()),
    });
    return {
      box,
      label: h("label", { title }, box, badge(name), name, plain ? h("small", {}, "always") : null),
    };
  });
  const chosen = () => boxes.filter(({ box }) => box.checked).map(({ box }) => box.value);
  return { element: h("div", { class: "cx-methods" }, ...boxes.map(({ label }) => label)), chosen };
}

/**
 * @param {string} input its id
 * @param {CompareSetup["words"][string]} words
 */
const labelFor = (input, { label, about }) => h("label", { for: input, title: about }, label);

/** @param {CompareSetup} setup */
function settingInputs({ trees, freeTree, newTokens, maxTokens, words }) {
  const tokens = h("input", {
    type: "number",
    min: 1,
    max: maxTokens,
    step: 1,
    value: newTokens,
    required: true,
    id: "cx-tokens",
  });
  const options = trees.map((name) => h("option", { value: name }, name));
  const tree = freeTree
    ? h("input", {
        type: "text",
        value: "auto",
        list: "cx-trees",
        id: "cx-tree",
        autocomplete: "off",
        spellcheck: "false",
      })
    : h("select", { id: "cx-tree" }, ...options);
  return {
    element: h(
      "div",
      { class: "cx-settings" },
      labelFor("cx-tokens", words.max_new_tokens),
      tokens,
      labelFor("cx-tree", words.tree),
      tree,
      freeTree ? h("datalist", { id: "cx-trees" }, ...options) : null,
    ),
    asked: () => ({ max_new_tokens: Number(tokens.value), tree: tree.value.trim() || "auto" }),
  };
}
