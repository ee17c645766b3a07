"""Chapter 2: when drafting with a small model pays."""

from __future__ import annotations

import json
from dataclasses import asdict
from functools import cache
from typing import Any

from explorer.analysis.cost_file import CostFile, shipped_costs
from explorer.analysis.formulas import (
    expected_tokens,
    idealised_speedup,
    kv_cache_bytes,
    speedup_at_cost,
    tensor_parallel_seconds,
    weight_bytes,
)
from explorer.learn import draft_fit
from explorer.learn.chapter import Chapter, See
from explorer.learn.draft_fit import KINDS
from explorer.learn.formats import ratio
from explorer.learn.llms import LLMS, llm
from explorer.learn.machines import GPUS
from explorer.learn.outline import TITLES
from explorer.learn.recorded_comparison import compared
from explorer.records.paths import ASSETS

MOST_DRAFTS = 16
CONTEXT = 8192
MEASURED = ASSETS / "learn" / "drafts.json"
# Of a tutorial: α 0.7 to 0.85, K 4 to 6.
ALPHA, K, RATIO = 0.8, 4, 0.1
NVLINK = 450e9  # bytes a second each way, H100 data sheet
ALL_REDUCE = 10e-6  # seconds, an assumption that the slider changes


# The default model: weights of a layer in Q4_1 (4 bits, and scale and offset of 16 bits for 32
# weights), rows of the LM head in Q8_0 (8 bits and a scale).
LAYER_BYTES = weight_bytes(3_538_944, 5)
HEAD_ROW_BYTES = weight_bytes(576, 8.5)
VOCABULARY, DRAFT_VOCABULARY, TRAINED_LAYERS = 49_152, 8_192, 2


@cache
def drafts() -> dict[str, Any]:
    """What tools/record_drafts.py counted, and what a draft pass reads of a target pass's bytes."""
    read = json.loads(MEASURED.read_text(encoding="utf-8"))
    target = _pass_bytes(read["model_layers"], VOCABULARY)
    for draft in read["drafts"]:
        trained = draft["layers"] == 0
        layers = TRAINED_LAYERS if trained else draft["layers"]
        rows = DRAFT_VOCABULARY if trained else VOCABULARY
        draft["ratio"] = _pass_bytes(layers, rows) / target
        draft["by_kind"] = {KINDS[kind]: one for kind, one in draft["by_kind"].items()}
    return read


def _pass_bytes(layers: int, rows: int) -> float:
    return layers * LAYER_BYTES + rows * HEAD_ROW_BYTES


def numbers() -> dict[str, object]:
    """Worked examples of the text."""
    large, small = llm("Llama 3 70B"), llm("Llama 3 8B")
    kinds = [{"kind": kind} | one for kind, one in _of_depth(0)["by_kind"].items()]
    kinds.sort(key=lambda one: one["acceptance"])
    extra = weight_bytes(small.parameters, 16) + _cache(small)
    cost = _costs(next(iter(shipped_costs().values())))["cost"][K]
    return {
        "alpha": ALPHA,
        "k": K,
        "ratio": RATIO,
        "tokens": expected_tokens(ALPHA, K),
        "ideal": idealised_speedup(ALPHA, K, RATIO),
        "cost": cost,
        "real": speedup_at_cost(ALPHA, K, RATIO, cost),
        "extra": extra,
        "extra_16": extra / (weight_bytes(large.parameters, 16) + _cache(large)),
        "extra_4": extra / (weight_bytes(large.parameters, 4) + _cache(large)),
        "context": CONTEXT,
        "measured": drafts(),
        "trained": _of_depth(0),
        "shallow": _of_depth(1),
        "deep": drafts()["drafts"][-1],
        "best": kinds[-1],
        "worst": kinds[0],
        "alone": drafting_ratio(1),
        "split": drafting_ratio(8),
        "latency": 1e6 * ALL_REDUCE,
        "hot": drafts()["by_temperature"],
        "fit": draft_fit.numbers(drafts()["draft_tokens"], RATIO),
        "depths": _depths(),
    }


def _depths() -> list[dict[str, Any]]:
    """How often the draft model's guesses were right at each depth of the recorded comparison."""
    depths = compared()["details"]["draft-model"]["acceptance"]
    return [one | {"judged": one["accepted"] + one["first_rejections"]} for one in depths]


def _cache(model) -> float:
    return kv_cache_bytes(model.layers, model.kv_heads, model.head_size, CONTEXT)


def _of_depth(layers: int) -> dict[str, Any]:
    return next(each for each in drafts()["drafts"] if each["layers"] == layers)


def drafting_ratio(gpus: int) -> float:
    """T_draft/T_target of a 1B draft beside a 4-bit 70B on H100s."""
    memory = next(gpu.bandwidth for gpu in GPUS if gpu.name == "H100")

    def seconds(name: str, bits: int) -> float:
        model = llm(name)
        read = weight_bytes(model.parameters, bits)
        return tensor_parallel_seconds(
            read, model.layers, model.width, gpus, memory, NVLINK, ALL_REDUCE
        )

    return seconds("Llama 3.2 1B", 16) / seconds("Llama 3 70B", 4)


def _costs(costs: CostFile) -> dict[str, Any]:
    """C(n) for n from 1 up, at the shortest context of a cost file."""
    curve = costs.curves_at(1)[0]
    return {
        "name": costs.title,
        "measured": costs.measured[:10],
        "cost": [curve.at(n) for n in range(1, MOST_DRAFTS + 2)],
    }


def data() -> dict[str, Any]:
    """What the calculators start from."""
    return {
        "most": MOST_DRAFTS,
        "start": {"alpha": ALPHA, "k": K, "ratio": RATIO},
        "costs": [_costs(costs) for costs in shipped_costs().values()],
        "models": [asdict(model) for model in LLMS],
        "context": CONTEXT,
        "drafts": drafts(),
        "fit": draft_fit.data(drafts()),
        "gpus": [{"name": gpu.name, "memory": gpu.bandwidth} for gpu in GPUS],
        "link": NVLINK,
        "latency": ALL_REDUCE,
        "question": _question(),
    }


def _question() -> dict[str, object]:
    tokens = expected_tokens(ALPHA, K)
    return {
        "ask": f"{K} drafts, each right with probability {ALPHA}: how many tokens does a step "
        "write on average?",
        "options": [ratio(tokens - 1), ratio(K * ALPHA), ratio(tokens), str(K + 1)],
        "right": 2,
        "why": f"The first wrong draft ends the step, so {ratio(tokens - 1)} drafts are accepted "
        "on average, and the base model's own token comes on top.",
    }


def see() -> See:
    """A step in which drafts were rejected, of the run in which they cost more than they gain."""
    return See("a slowdown", 2, "A run in which guesses cost more than they gain.")


KEY = "draft_and_verify"
CHAPTER = Chapter(KEY, TITLES[KEY], numbers, data, see)
