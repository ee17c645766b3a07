"""Counts what draft models of several depths get right: `python -m tools.record_drafts` (minutes).

Writes assets/learn/drafts.json for Learn: how many guesses of the trained draft model were
accepted, and how many of drafts that are the first layers of the base model; the trained draft also
at temperatures, where its guesses are drawn from its own distribution and judged by rejection
sampling. Counts do not depend on the machine's speed.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime

import explorer
from explorer.analysis.speedup import acceptance_by_depth
from explorer.lab.lab import Lab
from explorer.records.paths import ASSETS
from explorer.records.schema import Trace

PATH = ASSETS / "learn" / "drafts.json"
PROMPTS = ASSETS / "dev_prompts.jsonl"
TRAINED = 0  # as `draft_layers` of the settings has it
LAYERS = (TRAINED, 1, 2, 4, 8, 16, 24)
DRAFTS, TOKENS, EVERY = 3, 32, 8
TEMPERATURES, SEEDS = (0.5, 1.0, 1.5), 4


def prompts() -> dict[str, list[str]]:
    """Every eighth development prompt, by kind."""
    found: dict[str, list[str]] = {}
    for line in PROMPTS.read_text(encoding="utf-8").splitlines()[::EVERY]:
        entry = json.loads(line)
        found.setdefault(entry["category"], []).append(entry["prompt"])
    return found


def of_depth(lab: Lab, layers: int, asked: dict[str, list[str]]) -> dict[str, object]:
    """What a draft of this many layers did on all prompts."""
    settings = {"method": "draft-model", "draft_layers": layers, "draft_tokens": DRAFTS}
    traces = {
        kind: [lab.run(prompt, max_new_tokens=TOKENS, **settings) for prompt in some]
        for kind, some in asked.items()
    }
    return {
        "layers": layers,
        **counted([trace for some in traces.values() for trace in some]),
        "by_kind": {kind: counted(some) for kind, some in traces.items()},
    }


def at_temperature(lab: Lab, temperature: float, asked: dict[str, list[str]]) -> dict[str, object]:
    """What the trained draft did where both models draw."""
    settings = {"method": "draft-model", "draft_tokens": DRAFTS, "candidates": "drawn"}
    traces = [
        lab.run(prompt, max_new_tokens=TOKENS, temperature=temperature, seed=seed, **settings)
        for some in asked.values()
        for prompt in some
        for seed in range(SEEDS)
    ]
    return {"temperature": temperature, **counted(traces)}


def counted(traces: Sequence[Trace]) -> dict[str, float]:
    """Acceptance rate over all depths, and tokens per step."""
    depths = [one for trace in traces for one in acceptance_by_depth(trace.steps, trace.trees)]
    accepted = sum(one.accepted for one in depths)
    judged = accepted + sum(one.first_rejections for one in depths)
    tokens = sum(len(step.emitted) for trace in traces for step in trace.steps)
    steps = sum(len(trace.steps) for trace in traces)
    return {
        "acceptance": round(accepted / judged, 4) if judged else 0.0,
        "tokens_per_step": round(tokens / steps, 4),
        "steps": steps,
    }


def measured() -> dict[str, object]:
    """The content of the file."""
    lab = explorer.load()
    asked = prompts()
    return {
        "model": lab.model.name,
        "model_layers": lab.model.config.num_hidden_layers,
        "backend": lab.model.backend,
        "measured": datetime.now(UTC).date().isoformat(),
        "prompts": sum(map(len, asked.values())),
        "new_tokens": TOKENS,
        "draft_tokens": DRAFTS,
        "drafts": [of_depth(lab, layers, asked) for layers in LAYERS],
        "seeds": SEEDS,
        "by_temperature": [at_temperature(lab, each, asked) for each in TEMPERATURES],
    }


if __name__ == "__main__":
    PATH.write_text(json.dumps(measured(), indent=1) + "\n", encoding="utf-8")
    print(PATH.name)
