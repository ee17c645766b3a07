// Drafts made of the first layers of the base model: what more layers gain, and what they cost.

/**
 * @import { Data, Draft } from "./draft_and_verify.js"
 * @import { Tools } from "./kit.js"
 */

/**
 * @param {Data} data
 * @param {Tools} tools
 */
export function depthView(data, tools) {
  const { h, numbers } = tools;
  const { drafts, draft_tokens, model_layers, prompts, measured } = data.drafts;
  const [trained] = drafts.filter(({ layers }) => layers === 0);
  const cut = drafts.filter(({ layers }) => layers > 0);
  const cost = data.costs[0].cost[draft_tokens];
  const speedup = (/** @type {Draft} */ draft) =>
    draft.tokens_per_step / (cost + draft_tokens * draft.ratio);
  const chart = tools.chart({
    label: `Acceptance and speedup by layers of the draft: ${cut.map((draft) => `${draft.layers}: ${numbers.percent(draft.acceptance)}, ${numbers.ratio(speedup(draft))}×`).join("; ")}`,
    height: 260,
    x: {
      title: `layers of the draft (the base model has ${model_layers})`,
      min: 0,
      max: 26,
      ticks: cut.map(({ layers }) => layers),
    },
    y: { title: "share accepted; S′ in ×", min: 0, max: 1.2 },
  });
  chart.set({
    lines: [
      {
        name: "accepted",
        points: cut.map((draft) => [draft.layers, draft.acceptance]),
        kind: "rival",
      },
      { name: "S′", points: cut.map((draft) => [draft.layers, speedup(draft)]), kind: "own" },
      {
        name: "",
        points: [
          [0, 1],
          [26, 1],
        ],
        kind: "quiet",
      },
    ],
    dots: [
      {
        x: 2,
        y: trained.acceptance,
        kind: "rival",
        label: "trained: accepted",
        title: `accepted: ${numbers.percent(trained.acceptance)}`,
      },
      {
        x: 2,
        y: speedup(trained),
        kind: "own",
        label: "trained: S′",
        title: `S′ of the trained draft: ${numbers.ratio(speedup(trained))}×`,
      },
    ],
  });
  return h(
    "div",
    { class: "lx-card" },
    h("h3", {}, "A deeper draft is accepted more, and costs more"),
    chart.element,
    h(
      "p",
      { class: "lx-note" },
      `Measured: the share of judged guesses that were accepted, and tokens per step (${draft_tokens} drafts a step, ${prompts} prompts, ${measured}). S′ is an estimate from them: C(${draft_tokens + 1}) = ${numbers.ratio(cost)} was measured, and a draft pass is taken to cost what it reads of the target's bytes: ${numbers.share(cut[0].ratio)} with one layer, since it reads the whole LM head too; ${numbers.share(trained.ratio)} for the trained draft, whose head has fewer rows.`,
    ),
  );
}
