// Break it: what the model writes with one planted fault, and which check notices.

/**
 * @import { Tools } from "./kit.js"
 * @typedef {{ key: string, name: string, what: string }} Fault
 * @typedef {object} Report as explorer/records/faults.py has it
 * @property {string} fault
 * @property {string} model
 * @property {string} backend
 * @property {string} prompt
 * @property {string} tree
 * @property {string[]} plain
 * @property {string[]} text
 * @property {number} steps of the greedy text
 * @property {{ rows: number, differing: number, first: number | null } | null} bits
 * @property {{ tokens: number, first: number | null, wanted: string | null, got: string | null }} audit
 * @property {{ tokens: number, counts: number[], statistic: number, p_value: number }} chi
 * @property {string[]} caught_by
 */

/**
 * @param {{ faults: Fault[], reports: Report[], recorded: string }} data
 * @param {Tools} tools
 */
export function breakIt({ faults, reports, recorded }, tools) {
  const { h } = tools;
  let chosen = faults[1];
  /** @type {Map<string, Report>} */
  const live = new Map();
  const out = h("div", {});
  const source = h("p", { class: "lx-note", role: "status" });
  const run = h("button", { type: "button", hidden: true, onclick: () => ask() }, "Run it here");
  const show = () => {
    const report = live.get(chosen.key) ?? reports.find(({ fault }) => fault === chosen.key);
    out.replaceChildren(
      h("p", {}, chosen.what),
      ...(report
        ? described(
            report,
            reports.find(({ fault }) => fault === "none"),
            tools,
          )
        : []),
    );
    source.textContent = report
      ? `${live.has(chosen.key) ? "Run just now" : `Recorded ${recorded}`}: ${report.model}, ${report.backend}, tree ${report.tree}, “${report.prompt}”`
      : "";
  };
  const ask = async () => {
    const { key } = chosen;
    run.disabled = true;
    source.textContent =
      "Running the model with the fault, which takes a while; other runs come first.";
    try {
      const answer = await fetch(tools.address(`fault/${key}`), {
        method: "POST",
      });
      if (!answer.ok) throw new Error(await answer.text());
      live.set(key, await answer.json());
      show();
    } catch (error) {
      source.textContent = `${error instanceof Error ? error.message : error}`;
    }
    run.disabled = false;
  };
  const choice = tools.choice(
    "Fault",
    faults.map(({ key, name }) => [key, name]),
    chosen.key,
    (key) => {
      chosen = faults.find((fault) => fault.key === key) ?? chosen;
      show();
    },
  );
  tools.machine().then((machine) => {
    run.hidden = !machine;
  });
  show();
  return h(
    "div",
    { class: "lx-card" },
    choice.element,
    out,
    source,
    h("div", { class: "lx-buttons" }, run),
  );
}

/**
 * @param {Report} report
 * @param {Report | undefined} sound
 * @param {Tools} tools
 */
function described(report, sound, tools) {
  const { h, numbers } = tools;
  const rate = (/** @type {Report} */ one) => numbers.ratio(one.text.length / one.steps);
  return [
    text("plain decoding", report.plain, report.audit.first, "is-right", tools),
    text("with the fault", report.text, report.audit.first, "is-wrong", tools),
    h(
      "table",
      { class: "lx-table" },
      h("thead", {}, h("tr", {}, ...["check", "found", ""].map((name) => h("th", {}, name)))),
      h("tbody", {}, ...checks(report, tools)),
    ),
    h(
      "p",
      { class: "lx-note" },
      `${rate(report)} tokens per step${sound ? `, ${rate(sound)} without a fault` : ""}.`,
    ),
  ];
}

/**
 * A text with its first wrong token marked; what follows it is quiet.
 * @param {string} name
 * @param {string[]} tokens
 * @param {number | null} first
 * @param {string} kind
 * @param {Tools} tools
 */
function text(name, tokens, first, kind, { h }) {
  const at = first ?? tokens.length;
  const words = (/** @type {string[]} */ some) =>
    some.join("").replaceAll("␣", " ").replaceAll("↵", "\n");
  return h(
    "div",
    { class: "lx-broken" },
    h("b", {}, name),
    h(
      "p",
      { class: "lx-said" },
      words(tokens.slice(0, at)),
      at < tokens.length ? h("mark", { class: kind }, words([tokens[at]])) : null,
      h("span", { class: "is-after" }, words(tokens.slice(at + 1))),
    ),
  );
}

/**
 * @param {Report} report
 * @param {Tools} tools
 */
function checks({ bits, audit, chi, caught_by: caught }, { h, numbers }) {
  /** @type {[key: string, name: string, found: string][]} */
  const rows = [
    [
      "bits",
      "bit-equality",
      bits
        ? `${numbers.count(bits.differing)} of ${numbers.plural(bits.rows, "accepted row")} differ from a plain pass`
        : "not possible: rows of this backend differ by themselves",
    ],
    [
      "audit",
      "audit",
      audit.first === null
        ? `${numbers.plural(audit.tokens, "token")} as plain decoding writes them`
        : `token ${audit.first + 1} is ‘${audit.got ?? "missing"}’ instead of ‘${audit.wanted ?? "the end"}’`,
    ],
    [
      "chi",
      "χ²",
      `${chi.statistic.toFixed(1)} over ${numbers.plural(chi.tokens, "sampled token")}, p ${chi.p_value < 0.001 ? "< 0.001" : `= ${numbers.significant(chi.p_value, 2)}`}`,
    ],
  ];
  return rows.map(([key, name, found]) =>
    h(
      "tr",
      { "data-check": key },
      h("td", {}, name),
      h("td", {}, found),
      h(
        "td",
        { class: caught.includes(key) ? "is-wrong" : "is-right" },
        caught.includes(key) ? "✗ caught" : "✓ nothing",
      ),
    ),
  );
}
