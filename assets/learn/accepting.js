// Chapter 7: one step under three rules; which nodes each takes, and what becomes of p.

import { bar, chances, expectedAccepted, fates, nextTokens } from "./acceptance.js";
import { mountOwn } from "./own_run.js";

/**
 * @import { Tools } from "./kit.js"
 * @import { Fate, RecordedStep, Rule } from "./acceptance.js"
 * @import { Trace } from "../step_explorer/trace.js"
 * @typedef {{ whose: string, epsilon: number, steps: RecordedStep[], question: Parameters<Tools["question"]>[0] }} Data
 */

/** @type {Record<Rule, string>} */
const SAID = {
  greedy:
    "Greedy: the child that is the base model’s first choice. At temperature 0 that is exactly what the base model writes.",
  sample:
    "Sample: one token is drawn from p after each row, and the child that holds it is followed. Each token is a draw from p: the distribution is kept. Figures are chances.",
  typical:
    "Typical: every child above its bar may stay, and the longest path wins. What follows is decided by the guesses, not by p: the distribution changes.",
};

/** @type {Record<Rule, string>} */
const CAPTIONS = {
  greedy: "The candidate tree: ● accepted, ○ not, ◇ never reached",
  sample: "The candidate tree: ● accepted with more than 0.1, ○ less often",
  typical: "The candidate tree: ● accepted (p above the bar), ○ not, ◇ never reached",
};
/** @type {Record<Fate, [sign: string, kind: string]>} */
const SIGNS = {
  root: ["■", "is-root"],
  accepted: ["●", "is-taken"],
  likely: ["●", "is-taken"],
  unlikely: ["○", "is-left"],
  "below the bar": ["○", "is-left"],
  "on a lesser path": ["○", "is-left"],
  "not the first choice": ["○", "is-left"],
  "never reached": ["◇", "is-left"],
};

/** The first step that accepted something. @param {Trace} trace */
export function seenIn(trace) {
  const at = trace.steps.findIndex(({ accepted }) => accepted.length > 1);
  return at < 0 ? null : at;
}

/**
 * @param {HTMLElement} place
 * @param {Data} data
 * @param {Tools} tools
 */
export const mount = (place, data, tools) =>
  mountOwn(place, "accepting", data, tools, (given) => drawn(given, tools));

/**
 * @param {Data} data
 * @param {Tools} tools
 */
function drawn(data, tools) {
  const { h, choice, slider, figures } = tools;
  const state = {
    step: data.steps[0],
    rule: /** @type {Rule} */ ("typical"),
    epsilon: data.epsilon,
  };
  const [nodes, words, tokens] = [h("div", {}), h("p", { role: "status" }), h("div", {})];
  const out = figures([
    ["accepted", "accepted, expected"],
    ["tokens", "tokens of the step"],
    ["delta", "δ = √ε"],
    ["keeps", "keeps p"],
  ]);
  const update = () => {
    const accepted = chances(state.step.rows, state.rule, state.epsilon);
    const expected = expectedAccepted(accepted);
    nodes.replaceChildren(nodeTable(state, accepted, tools));
    tokens.replaceChildren(tokenTable(state, tools));
    words.textContent = SAID[state.rule];
    out.set("accepted", expected.toFixed(2));
    out.set("tokens", (1 + expected).toFixed(2));
    out.set("delta", state.rule === "typical" ? Math.sqrt(state.epsilon).toFixed(2) : "–");
    out.set("keeps", { greedy: "at temperature 0", sample: "yes", typical: "no" }[state.rule]);
    epsilon.element.hidden = state.rule !== "typical";
  };
  const epsilon = slider({
    ...{ label: "ε", min: 0.001, max: data.epsilon, value: data.epsilon, log: true },
    format: (value) => value.toFixed(3),
    change: (value) => {
      state.epsilon = value;
      update();
    },
  });
  const rules = choice(
    "Rule",
    [
      ["greedy", "greedy"],
      ["sample", "sample"],
      ["typical", "typical"],
    ],
    state.rule,
    (rule) => {
      state.rule = /** @type {Rule} */ (rule);
      update();
    },
  );
  const steps = choice(
    `Step of ${data.whose}`,
    data.steps.map(({ step }, i) => [String(i), String(step + 1)]),
    "0",
    (index) => {
      state.step = data.steps[Number(index)];
      update();
    },
  );
  update();
  return [
    h(
      "div",
      { class: "lx-card" },
      ...[steps.element, rules.element, epsilon.element, words, out.element],
      h("div", { class: "lx-pair" }, nodes, tokens),
    ),
    tools.question(data.question),
  ];
}

/**
 * @param {{ step: RecordedStep, rule: Rule, epsilon: number }} state
 * @param {number[]} accepted
 * @param {Tools} tools
 */
function nodeTable({ step, rule, epsilon }, accepted, { h, numbers }) {
  const { rows } = step;
  const fate = fates(rows, accepted, rule, epsilon);
  const lines = inOrder(rows).map((row) => {
    const { name, parent, p, depth } = rows[row];
    const asked = {
      greedy: "",
      sample: row ? numbers.probability(accepted[row]) : "",
      typical: row ? numbers.probability(bar(rows[parent], epsilon)) : "",
    }[rule];
    const [sign, kind] = SIGNS[fate[row]];
    return h(
      "tr",
      { class: kind },
      h(
        "td",
        { style: `padding-left: ${depth * 14}px` },
        h("span", { class: "lx-sign" }, sign, " "),
        h("code", {}, name),
      ),
      h("td", {}, row ? numbers.inColumn(p) : ""),
      rule === "greedy" ? null : h("td", {}, asked),
      rule === "sample" ? null : h("td", {}, row ? fate[row] : ""),
    );
  });
  const columns = {
    greedy: ["so it is"],
    sample: ["accepted with"],
    typical: ["bar", "so it is"],
  };
  return h(
    "table",
    { class: "lx-nodes lx-fates" },
    h("caption", {}, CAPTIONS[rule]),
    h("tr", {}, ...["node", "p", ...columns[rule]].map((name) => h("th", { scope: "col" }, name))),
    ...lines,
  );
}

/**
 * Rows as a reader sees a tree: each below its parent.
 * @param {{ parent: number }[]} rows
 */
function inOrder(rows) {
  /** @type {(row: number) => number[]} */
  const under = (row) => [
    row,
    ...rows.flatMap(({ parent }, child) => (parent === row ? under(child) : [])),
  ];
  return under(0);
}

/**
 * The next token: how often p and the rule give it.
 * @param {{ step: RecordedStep, rule: Rule, epsilon: number }} state
 * @param {Tools} tools
 */
function tokenTable({ step, rule, epsilon }, { h, numbers }) {
  const written = nextTokens(step, rule, epsilon);
  const p = nextTokens(step, "sample", epsilon);
  const share = (/** @type {string} */ kind, /** @type {number} */ value) =>
    h(
      "td",
      {},
      h("span", { class: `lx-share is-${kind}`, style: `width: ${Math.round(90 * value)}px` }),
      value ? numbers.probability(value) : "0",
    );
  return h(
    "table",
    { class: "lx-nodes" },
    h("caption", {}, "The token after the root"),
    h("tr", {}, h("th", {}, "token"), h("th", {}, "p"), h("th", {}, "written")),
    ...p.map((value, i) =>
      h(
        "tr",
        {},
        h("td", {}, h("code", {}, step.wanted[i]?.name ?? "others")),
        share("p", value),
        share("kept", written[i]),
      ),
    ),
  );
}
