// A link in the address: `#trace=NAME&step=17` to a recorded run, or `#example=NAME&tree=…&step=17`
// (or `prompt=…`) to a run that the page can repeat.

/**
 * @import { Header } from "../../types/records.js"
 * @import { Example, Offer } from "../../types/page.js"
 */

/** @type {Record<string, string | number | boolean | null>} */
const DEFAULTS = {
  method: "medusa",
  against: "plain",
  tree: "auto",
  acceptance: "auto",
  temperature: 0,
  top_p: 1,
  top_k: 0,
  epsilon: 0.09,
  delta: 0.3,
  root_rule: "draw",
  seed: 0,
  max_new_tokens: 128,
  system_prompt: null,
  raw_prompt: false,
  candidates: "top",
  draft_tokens: 3,
  draft_layers: 0,
  lookahead_window: 4,
  lookahead_ngram: 3,
  lookahead_guesses: 3,
  lookup_tokens: 4,
  lookup_ngram: 3,
};

/** The settings, in the order in which the page keeps them. */
export const SETTINGS = Object.keys(DEFAULTS);

/**
 * What the address asks for: { trace, example, prompt, step, settings }.
 * @param {string} hash
 */
export function wantedFrom(hash) {
  const given = new URLSearchParams(hash.replace(/^#/, ""));
  const step = Number.parseInt(given.get("step") ?? "", 10);
  return {
    trace: given.get("trace"),
    example: given.get("example"),
    prompt: given.get("prompt"),
    step: Number.isInteger(step) && step >= 1 ? step - 1 : null,
    settings: Object.fromEntries(
      SETTINGS.filter((key) => given.has(key)).map((key) => [key, given.get(key)]),
    ),
  };
}

/**
 * What is asked for, if the setting's input can take it, else what stands there now: an input that
 * is given anything else refuses whatever comes after it.
 * @param {unknown} asked
 * @param {unknown} now
 * @param {Offer} offer
 */
export function offered(asked, now, offer) {
  if (asked === undefined || asked === null) return now;
  if (typeof now === "boolean") return String(asked) === "true";
  if (Array.isArray(offer)) return offer.includes(String(asked)) ? String(asked) : now;
  if (!offer) return String(asked);
  const number = String(asked).trim() === "" ? Number.NaN : Number(asked);
  const { minimum, maximum, whole } = offer;
  const fits = number >= minimum && number <= (maximum ?? Number.MAX_SAFE_INTEGER);
  return fits && (!whole || Number.isInteger(number)) ? number : now;
}

/**
 * The address of the step on view.
 * @param {{ header: Header | null, rival?: { header: Header | null } | null }} trace
 * @param {number | null} step
 * @param {string | null} name of a recorded run
 * @param {Example[]} examples
 */
export function hashOf(trace, step, name, examples) {
  const link = new URLSearchParams();
  if (name) link.set("trace", name);
  else if (trace.header) describe(link, trace.header, trace.rival?.header ?? null, examples);
  if (step !== null) link.set("step", String(step + 1));
  return `#${link}`;
}

/**
 * @param {URLSearchParams} link
 * @param {Header} header
 * @param {Header | null} rival of the race
 * @param {Example[]} examples
 */
function describe(link, header, rival, examples) {
  const example = examples.find(({ prompt }) => prompt === header.prompt);
  if (example) link.set("example", example.name);
  else link.set("prompt", header.prompt);
  /** @type {Record<string, unknown>} */
  const given = { ...header.settings, against: rival?.settings.method };
  const resolved = header.settings.temperature === 0 ? "greedy" : "sample";
  for (const key of SETTINGS) {
    const value = given[key] ?? DEFAULTS[key]; // older traces lack some
    if (value === DEFAULTS[key] || (key === "acceptance" && value === resolved)) continue;
    link.set(key, String(value));
  }
}
