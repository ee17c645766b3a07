// Where the prompts come from: the built-in ones by category, one's own text, or a file.

import { h, replace } from "../step_explorer/dom.js";
import { plural } from "../step_explorer/numbers.js";

/** @import { CompareSetup, CompareRequest } from "../../types/page.js" */

/**
 * @typedef {object} Source where prompts come from
 * @property {Element} element
 * @property {() => Pick<CompareRequest, "builtin" | "own" | "file">} asked
 * @property {() => number} count
 */

/** @type {Record<string, string>} */
const SOURCES = { builtin: "Built-in", own: "Own text", file: "File" };
const BETWEEN = /^---+\s*$/m;

/**
 * `changed` is called when the number of prompts may be another.
 * @param {CompareSetup} setup
 * @param {() => unknown} changed
 */
export function promptsView(setup, changed) {
  /** @type {Record<string, Source>} */
  const panels = {
    builtin: builtin(setup, changed),
    own: own(setup, changed),
    file: file(setup, changed),
  };
  let source = "builtin";
  const body = h("div", { class: "cx-source" }, panels.builtin.element);
  const radios = Object.entries(SOURCES).map(([key, text]) =>
    h(
      "label",
      {},
      h("input", {
        type: "radio",
        name: "cx-source",
        value: key,
        checked: key === source,
        onchange: () => pick(key),
      }),
      text,
    ),
  );

  /** @param {string} key */
  function pick(key) {
    source = key;
    replace(body, panels[key].element);
    changed();
  }
  return {
    element: h(
      "div",
      {},
      h(
        "div",
        { class: "cx-sources", role: "radiogroup", "aria-label": "Where the prompts come from" },
        ...radios,
      ),
      body,
    ),
    asked: () => panels[source].asked(),
    count: () => panels[source].count(),
  };
}

/**
 * @param {CompareSetup} setup
 * @param {() => unknown} changed
 * @returns {Source}
 */
function builtin({ builtin: prompts }, changed) {
  const categories = [...new Set(prompts.map(({ category }) => category))];
  const boxes = categories.map((name) => {
    const some = prompts.filter(({ category }) => category === name);
    const box = h("input", { type: "checkbox", value: name, checked: true, onchange: changed });
    const title = some
      .map(({ prompt }) => (prompt.length > 90 ? `${prompt.slice(0, 89)}…` : prompt))
      .join("\n");
    return {
      box,
      some,
      label: h("label", { title }, box, name, h("small", {}, String(some.length))),
    };
  });
  const most = Math.max(...boxes.map(({ some }) => some.length));
  const each = h(
    "select",
    { id: "cx-each", onchange: changed },
    ...[1, 2, 3, 4].filter((n) => n < most).map((n) => h("option", { value: n }, String(n))),
    h("option", { value: most }, "all"),
  );
  each.value = "1";
  const chosen = () =>
    boxes.filter(({ box }) => box.checked).flatMap(({ some }) => some.slice(0, Number(each.value)));
  return {
    element: h(
      "div",
      { class: "cx-categories" },
      ...boxes.map(({ label }) => label),
      h("p", {}, h("label", { for: "cx-each" }, "Prompts of each"), each),
    ),
    asked: () => ({ builtin: chosen().map(({ id }) => id) }),
    count: () => chosen().length,
  };
}

/**
 * @param {CompareSetup} setup
 * @param {() => unknown} changed
 * @returns {Source}
 */
function own({ maxCharacters }, changed) {
  const hint = "A line of three dashes (---) begins the next prompt.";
  const text = h("textarea", {
    rows: 4,
    maxlength: maxCharacters,
    "aria-label": "Your own prompts",
    placeholder: "Write a prompt …",
    oninput: changed,
  });
  const written = () =>
    text.value
      .split(BETWEEN)
      .map((part) => part.trim())
      .filter(Boolean);
  return {
    element: h("div", { class: "cx-own" }, text, h("p", { class: "sx-soft" }, hint)),
    asked: () => ({ own: written().length ? written() : [""] }),
    count: () => written().length,
  };
}

/**
 * @param {CompareSetup} setup
 * @param {() => unknown} changed
 * @returns {Source}
 */
function file({ maxFile }, changed) {
  /** @type {string | null} */
  let content = null;
  let lines = 0;
  const hint = h("p", { class: "sx-soft", "aria-live": "polite" });
  const example = '{"id": "a-1", "category": "chat", "prompt": "…"}';
  const usual = `One JSON object a line, as ${example}. It is read here in the browser.`;
  const input = h("input", {
    type: "file",
    accept: ".jsonl,.json,.txt,application/jsonl",
    "aria-label": "A file of prompts",
    onchange: read,
  });
  hint.textContent = usual;

  async function read() {
    const [chosen] = input.files ?? [];
    [content, lines] = [null, 0];
    if (chosen && chosen.size > maxFile)
      hint.textContent = `${chosen.name} is larger than ${Math.round(maxFile / 1000)} kB: give fewer prompts.`;
    else if (chosen) {
      const text = await chosen.text();
      content = text;
      lines = text.split("\n").filter((line) => line.trim()).length;
      hint.textContent = `${chosen.name}: ${plural(lines, "line")}.`;
    } else hint.textContent = usual;
    changed();
  }
  return {
    element: h("div", { class: "cx-file" }, input, hint),
    asked: () => ({ file: content ?? "" }),
    count: () => lines,
  };
}
