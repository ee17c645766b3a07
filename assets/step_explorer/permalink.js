// A link in the address: `#trace=NAME&step=17` to a recorded run, or `#example=NAME&tree=…&step=17`
// (or `prompt=…`) to a run that the page can repeat.

const DEFAULTS = {
  method: "medusa",
  tree: "auto",
  acceptance: "auto",
  temperature: 0,
  top_p: 1,
  top_k: 0,
  epsilon: 0.09,
  delta: 0.3,
  seed: 0,
  max_new_tokens: 128,
  system_prompt: null,
  raw_prompt: false,
};

/** The settings, in the order in which the page keeps them. */
export const SETTINGS = Object.keys(DEFAULTS);

/** What the address asks for: { trace, example, prompt, step, settings }. */
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

/** The address of the step on view; `name` is that of a recorded run, or null; `examples` have
 *  names and prompts. */
export function hashOf(trace, step, name, examples) {
  const link = new URLSearchParams();
  if (name) link.set("trace", name);
  else describe(link, trace.header, examples);
  if (step !== null) link.set("step", step + 1);
  return `#${link}`;
}

function describe(link, header, examples) {
  const example = examples.find(({ prompt }) => prompt === header.prompt);
  if (example) link.set("example", example.name);
  else link.set("prompt", header.prompt);
  const resolved = header.settings.temperature === 0 ? "greedy" : "sample";
  for (const [key, usual] of Object.entries(DEFAULTS)) {
    const value = header.settings[key] ?? null;
    if (value === usual || (key === "acceptance" && value === resolved)) continue;
    link.set(key, value);
  }
}
