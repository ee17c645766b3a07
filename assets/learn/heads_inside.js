// A head as a picture, in the form of the paper and in two that are often printed; and what each
// head predicts from one hidden state of a recorded run.

import { shortened } from "../step_explorer/text.js";

/**
 * @import { Tools } from "./kit.js"
 * @import { Data } from "./heads.js"
 * @import { Trace } from "../step_explorer/trace.js"
 */

/** @type {Record<string, { name: string, joins: "hidden" | "logits" | "nowhere", says: (d: string, v: string) => string }>} */
const FORMS = {
  paper: {
    name: "W₂(h + SiLU(W₁h + b₁))",
    joins: "hidden",
    says: (d, v) =>
      `h has ${d} numbers, and so has SiLU(W₁h + b₁): they can be added. W₂ turns the sum into ${v} scores. With W₁ = 0 the sum is h, and the head says what the LM head says.`,
  },
  outside: {
    name: "W₂·SiLU(W₁h) + h",
    joins: "logits",
    says: (d, v) => `This cannot be computed: W₂·SiLU(W₁h) has ${v} numbers and h has ${d}.`,
  },
  without: {
    name: "W₂·SiLU(W₁h)",
    joins: "nowhere",
    says: (_, v) =>
      `This can be computed, but with W₁ = 0 it gives the score 0 to all ${v} tokens: the head starts from nothing instead of from the LM head.`,
  },
};
const LABEL = 12; // characters of a token

/**
 * @param {Data} data
 * @param {Tools} tools
 */
export function headView(data, tools) {
  const { h, numbers } = tools;
  const { hidden, vocabulary } = data.bases[0];
  const [d, v] = [numbers.count(hidden), numbers.count(vocabulary)];
  const picture = h("div", { class: "lx-head-picture" });
  const says = h("p", { class: "lx-note", role: "status" });
  const draw = (/** @type {string} */ key) => {
    picture.replaceChildren(drawn(tools, FORMS[key].joins, d, v));
    says.textContent = FORMS[key].says(d, v);
  };
  const forms = tools.choice(
    "Printed as",
    Object.entries(FORMS).map(([key, { name }]) => [key, name]),
    "paper",
    draw,
  );
  draw("paper");
  return h(
    "div",
    {},
    h("div", { class: "lx-card" }, forms.element, picture, says),
    predictions(data, tools),
  );
}

/**
 * @param {Tools} tools
 * @param {"hidden" | "logits" | "nowhere"} joins
 * @param {string} d
 * @param {string} v
 */
function drawn({ s }, joins, d, v) {
  const wrong = joins === "logits" ? " is-wrong" : "";
  const box = (/** @type {number} */ x, /** @type {string} */ text) => [
    s("rect", { class: "lx-part", x, y: 70, width: 78, height: 34, rx: 6 }),
    s("text", { class: "lx-part-name is-middle", x: x + 39, y: 92 }, text),
  ];
  const size = (/** @type {number} */ x, /** @type {string} */ text) =>
    s("text", { class: "lx-tick is-middle", x, y: 122 }, text);
  const wire = (/** @type {string} */ path, name = "") =>
    s("path", { class: `lx-wire${name}`, d: path });
  const end = joins === "logits" ? 486 : 356;
  const plus =
    joins === "nowhere"
      ? []
      : [
          wire(`M48 87V30H${end}V74`, wrong),
          s("circle", { class: `lx-plus${wrong}`, cx: end, cy: 87, r: 13 }),
          s(
            "text",
            { class: "lx-part-name is-middle", x: end, y: 92 },
            joins === "logits" ? "✗" : "+",
          ),
          s(
            "text",
            { class: "lx-tick is-middle", x: end / 2 + 24, y: 24 },
            `residual: h, ${d} numbers`,
          ),
        ];
  return s(
    "svg",
    {
      viewBox: "0 0 620 132",
      role: "img",
      "aria-label": {
        hidden: "h and SiLU of W1 h plus b1 are added, then W2 gives the scores",
        logits: "h is added after W2: the sizes do not match",
        nowhere: "no residual",
      }[joins],
    },
    wire("M30 87H580"),
    ...box(96, "W₁ + b₁"),
    ...box(216, "SiLU"),
    ...box(394, "W₂"),
    ...plus,
    s("text", { class: "lx-part-name is-middle", x: 16, y: 92 }, "h"),
    s("text", { class: "lx-part-name", x: 520, y: 80 }, "scores"),
    size(60, d),
    size(195, d),
    size(320, d),
    size(540, v),
  );
}

/**
 * @param {Data} data
 * @param {Tools} tools
 */
function predictions(data, tools) {
  const { h } = tools;
  const rows = h("tbody", {});
  const text = h("p", { class: "lx-said" });
  const place = h("div", {});
  const show = (/** @type {Trace} */ trace, /** @type {number} */ at) => {
    const first = trace.header?.prompt_ids.length ?? 0;
    const word = (/** @type {number} */ id) => shortened(trace.piece(id).label, LABEL);
    const said = trace.tokens.slice(0, at + 1).map(({ id }) => trace.piece(id).text ?? "");
    text.textContent = `${said.join("")}▕`;
    const states = trace.headsAt(first + at).map((top, i) => ({ who: `head ${i + 1}`, top }));
    rows.replaceChildren(
      ...states.map(({ who, top }, i) => {
        const target = trace.tokens[at + 2 + i];
        const right = target && top.ids[0] === target.id;
        return h(
          "tr",
          {},
          h("td", {}, who),
          h("td", {}, `t + ${i + 2}`),
          h("td", { class: "lx-mono" }, word(top.ids[0])),
          h("td", {}, tools.numbers.probability(top.probs[0])),
          h("td", { class: "lx-mono" }, target ? word(target.id) : "–"),
          h("td", { class: right ? "is-right" : "is-wrong" }, right ? "✓" : "✗"),
        );
      }),
    );
  };
  tools.recordedRun(data.runs[0]).then((trace) => {
    const most = trace.tokens.length - 2 - data.heads.count;
    const slider = tools.slider({
      ...{ label: "Hidden state of position t", min: 0, max: most, step: 1, value: 9 },
      format: (at) => `token ${at + 1}`,
      change: (at) => show(trace, at),
    });
    place.append(slider.element);
    show(trace, slider.value());
  });
  const head = ["from it", "predicts", "first guess", "with", "written later", ""];
  return h(
    "div",
    { class: "lx-card" },
    h("h3", {}, "Which token does a head predict? (The LM head predicts t + 1.)"),
    place,
    text,
    h(
      "table",
      { class: "lx-table" },
      h("thead", {}, h("tr", {}, ...head.map((name) => h("th", {}, name)))),
      rows,
    ),
  );
}
