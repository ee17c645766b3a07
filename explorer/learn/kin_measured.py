"""What this product measured of the methods of the family, as cells of its table.

Everything is read from records: the recorded comparison of all methods (timed on one quiet
machine), the bench over all development prompts, the counts of draft models, and the shipped
heads' own files.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from typing import Any

from explorer.analysis.speedup import acceptance_by_depth
from explorer.learn.draft_and_verify import drafts
from explorer.learn.formats import count, day, percent, plural, size
from explorer.learn.heads import checked, shipped, tokens_by_kind
from explorer.learn.recorded_comparison import compared
from explorer.learn.recorded_runs import recorded_run
from explorer.records.numbers import ratio
from explorer.records.paths import ASSETS

BENCH = ASSETS / "learn" / "measured.json"
TRAINED = {
    "medusa": ASSETS / "heads" / "default" / "config.json",
    "hydra": ASSETS / "heads" / "hydra" / "config.json",
    "draft-model": ASSETS / "draft" / "config.json",
}


@cache
def bench() -> dict[str, Any]:
    """The bench over all development prompts."""
    return json.loads(BENCH.read_text(encoding="utf-8"))


def structured() -> dict[str, Any]:
    """Medusa on text with a fixed form: the recorded JSON run, and the comparison's prompts."""
    run = recorded_run("JSON")
    depths = acceptance_by_depth(run.steps, run.trees)
    accepted = sum(depth.accepted for depth in depths)
    judged = accepted + sum(depth.first_rejections for depth in depths)
    kinds = compared()["details"]["medusa"]["per_category"]
    worst = min(kinds, key=lambda kind: kinds[kind]["speedup"])
    return {
        "accepted": accepted / judged,
        "lane": run.figures and run.figures.lane,
        "speedup": run.figures and run.figures.speedup,
        "extract": kinds["extract"]["speedup"],
        "worst": worst,
        "worst_speedup": kinds[worst]["speedup"],
    }


def measured(method: str | None) -> dict[str, list[str]]:
    """The cells of a method by the table's rows; none for a method that this product lacks."""
    if method == "plain":
        return {"published": [f"{compared()['methods'][method]['tokens_per_second']:.0f} tokens/s"]}
    if method is None or method not in compared()["details"]:
        return {}
    cells = {
        "drafting": [_drafting(method)],
        "memory": [_memory(method)],
        "verification": _verification(method),
        "drift": _drift(method),
        "published": _speeds(method),
        "training": [_training(method)] if method in TRAINED else [],
    }
    return {row: said for row, said in cells.items() if said}


def _drafting(method: str) -> str:
    shares = compared()["methods"][method]["shares"]
    return f"{percent(shares['heads'] + shares['draft'])} of a step’s time"


def _memory(method: str) -> str:
    memory = compared()["details"][method]["memory"]
    if not memory["weights_bytes"]:
        return "no weights"
    cache_ = memory["cache_bytes"]
    kept = f" and {size(cache_)} of cache at {memory['context_length']} tokens" if cache_ else ""
    share = percent(memory["share"])
    return f"{size(memory['weights_bytes'])} of weights{kept}, {share} of the base model"


def _verification(method: str) -> list[str]:
    details = compared()["details"][method]
    rows, cost = details["prediction"]["rows"], details["prediction"]["cost"]
    return [
        f"{rows:.1f} rows a pass on average, {ratio(cost)} times a one-row pass",
        f"the text is plain decoding’s in {details['identical_prompts']} of "
        f"{plural(compared()['prompts'], 'prompt')}",
    ]


def _drift(method: str) -> list[str]:
    """How right the drafter is on other text; and how much a step writes on each kind of it."""
    drifts: dict[str, Callable[[], str]] = {"medusa": _heads_drift, "draft-model": _draft_drift}
    least, *_, most = tokens_by_kind(method)
    spread = (
        f"{ratio(least['tokens'])} ({least['kind']}) to {ratio(most['tokens'])} ({most['kind']}) "
        "tokens per step"
    )
    return [drifts[method](), spread] if method in drifts else [spread]


def _heads_drift() -> str:
    home, abroad = shipped()["accuracy"]["top1"][0], checked()["accuracy"]["heads"][0]["top"]["1"]
    return (
        f"head 1 is right for {percent(home)} on held-out text of its training’s kind, "
        f"{percent(abroad)} on other prompts"
    )


def _draft_drift() -> str:
    kinds = drafts()["drafts"][0]["by_kind"].items()
    rates = sorted((one["acceptance"], kind) for kind, one in kinds)
    (low, least), (high, most) = rates[0], rates[-1]
    return f"accepted: {percent(low)} ({least}) to {percent(high)} ({most})"


def _speeds(method: str) -> list[str]:
    """Each speedup with the plain decoding that it was measured against: the two differ."""
    found, details, more = compared()["methods"], compared()["details"][method], bench()
    plain = found["plain"]["tokens_per_second"]
    cells = [_speed(found[method] | details, compared()["prompts"], plain)]
    if method in more["methods"]:
        against = more["plain_tokens_per_second"]
        cells.append(
            f"{_speed(more['methods'][method], more['prompts'], against)} "
            f"({more['machine']}, {day(more['measured'])})"
        )
    return cells


def _speed(found: dict[str, Any], prompts: int, plain: float) -> str:
    return (
        f"{ratio(found['speedup'])}× ± {ratio(found['half_width'])}, "
        f"{ratio(found['tokens_per_step'])} tokens per step: {plural(prompts, 'prompt')}, against "
        f"plain decoding at {plain:.0f} tokens/s"
    )


def _training(method: str) -> str:
    config = json.loads(TRAINED[method].read_text(encoding="utf-8"))["training"]
    if method == "draft-model":
        return f"{config['data'].split(' of ')[0]}, {config['epochs']} epochs"
    rounds, last = 1, config
    while last := last.get("started_from"):
        rounds += 1
    return (
        f"{plural(rounds, 'training')} on up to {count(config['train_tokens'])} tokens; the base "
        "model frozen"
    )
