"""The race over many prompts: every method against plain decoding, and what it adds up to.

Each prompt is a race of its own, interleaved with its own plain lane, so a speedup is always of
two lanes that ran at the same time. The overall speedup is the geometric mean over prompts: ratios
multiply, and no prompt weighs more because its reply is longer.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from explorer.analysis.assisted_reference import AssistedReference, measure_assisted
from explorer.analysis.bench_report import PLAIN, BenchReport, verdict_sentence
from explorer.analysis.cost_curve import WIDTHS, CostCurve, measure_cost_curve
from explorer.analysis.memory import extra_memory
from explorer.analysis.method_details import MethodDetails, method_details
from explorer.analysis.overhead import (
    Overhead,
    Shares,
    measure_overhead,
    shares,
    wide_tree,
)
from explorer.analysis.races import (
    MethodFigures,
    Race,
    categories,
    finished_race,
    geometric_spread,
    method_figures,
)
from explorer.analysis.reference import Reference, measure_reference
from explorer.config import DecodeSettings, decode_settings
from explorer.decoding.loop import StepResult
from explorer.errors import ExplorerError
from explorer.tracing.events import TraceBuilder

if TYPE_CHECKING:
    from explorer import Explorer

DEFAULT_METHODS = (PLAIN, "medusa")
SIDE_PROMPTS = 6  # prompts that overhead, plain's step shares and the reference are measured on
SIDE_TOKENS = 64
CONTEXT = 128
Progress = Callable[[str, float | None], None]


def bench(
    explorer: Explorer,
    prompts: Sequence[dict[str, str]],
    methods: Sequence[str] = DEFAULT_METHODS,
    max_new_tokens: int = 128,
    tree: str = "auto",
    reference: bool = False,
    progress: Progress | None = None,
    cancel: threading.Event | None = None,
    **parameters: object,
) -> BenchReport:
    """Race every method but plain against plain on every prompt, greedily.

    `prompts` are records with "prompt" and optionally "id" and "category". The first method
    besides plain is the main one. With `reference`, what transformers' generate() can do too is
    compared with it. `parameters` are those of single methods (decoding/registry.py). A cancelled
    benchmark reports on the races that it finished. Raises ExplorerError for unknown methods, bad
    settings or no prompts.
    """
    if not prompts:
        raise ExplorerError("A benchmark needs at least one prompt.")
    tell = progress or (lambda text, share: None)
    racing = [method for method in dict.fromkeys(methods) if method != PLAIN]
    main = racing[0] if racing else None
    chosen = _settings(racing, tree=tree, max_new_tokens=max_new_tokens, **parameters)
    races = _races(explorer, prompts, chosen, tell, cancel)
    mains = [race.figures for race in races[main]] if main else []
    side = _Side()
    if not _cancelled(cancel):
        side = _measured_aside(explorer, _side_prompts(prompts), chosen, main, reference, tell)
    figures = _methods(races, racing, side.plain_shares)
    spread = geometric_spread(race.speedup for race in mains)
    return BenchReport(
        **_header(explorer),
        main_method=main,
        max_new_tokens=max_new_tokens,
        prompts=len(races[main or PLAIN]),
        identical_prompts=_identical(races),
        speedup=figures[main].speedup if main else None,
        spread=spread,
        methods=figures,
        per_category=categories(mains),
        overhead=side.overhead,
        cost_curve=side.curve,
        reference=side.reference,
        assisted_reference=side.assisted,
        details=_details(explorer, races, chosen, racing, side.curve),
        plain_over_generate=side.reference and side.reference.plain_over_generate,
        races=[race.figures for group in races.values() for race in group],
        sentence=verdict_sentence(main, figures, spread),
    )


@dataclass(frozen=True)
class _Side:
    """What is measured apart from the races, on a few prompts; nothing where it was cancelled."""

    plain_shares: Shares | None = None
    overhead: list[Overhead] = field(default_factory=list)
    curve: CostCurve | None = None
    reference: Reference | None = None
    assisted: dict[str, AssistedReference] = field(default_factory=dict)


def _measured_aside(
    explorer: Explorer,
    prompts: Sequence[str],
    chosen: dict[str, DecodeSettings],
    main: str | None,
    reference: bool,
    tell: Progress,
) -> _Side:
    tell("where the time of a step goes", 0.8)
    plain_shares = _plain_shares(explorer, prompts)
    overhead = _overheads(explorer, prompts, chosen[main]) if main in explorer.heads else []
    tell("cost curve", 0.9)
    curve = measure_cost_curve(explorer.model, WIDTHS, _context(explorer))
    tell("transformers' generate()", 0.95)
    if not reference:
        return _Side(plain_shares, overhead, curve)
    compared = measure_reference(explorer, prompts, SIDE_TOKENS)
    assisted = measure_assisted(explorer, prompts, _shortened(chosen))
    return _Side(plain_shares, overhead, curve, compared, assisted)


def _settings(racing: Sequence[str], **values: object) -> dict[str, DecodeSettings]:
    """Greedy settings of every method that races plain; plain races itself if there is none."""
    return {method: decode_settings(method=method, **values) for method in racing or [PLAIN]}


def _shortened(chosen: dict[str, DecodeSettings]) -> dict[str, DecodeSettings]:
    """The same settings for SIDE_TOKENS tokens."""
    update = {"max_new_tokens": SIDE_TOKENS}
    return {name: settings.model_copy(update=update) for name, settings in chosen.items()}


def _details(
    explorer: Explorer,
    races: dict[str, list[Race]],
    chosen: dict[str, DecodeSettings],
    racing: Sequence[str],
    curve: CostCurve | None,
) -> dict[str, MethodDetails]:
    """Per method, where a cost curve was measured (the benchmark was not cancelled)."""
    return {
        method: method_details(method, races[method], extra_memory(explorer, chosen[method]), curve)
        for method in (racing if curve else ())
    }


def _side_prompts(prompts: Sequence[dict[str, str]]) -> list[str]:
    """A few of the prompts, evenly spread over them."""
    every = -(-len(prompts) // SIDE_PROMPTS)
    return [record["prompt"] for record in prompts[::every]]


def _cancelled(cancel: threading.Event | None) -> bool:
    return cancel is not None and cancel.is_set()


def _races(
    explorer: Explorer,
    prompts: Sequence[dict[str, str]],
    settings: dict[str, DecodeSettings],
    tell: Progress,
    cancel: threading.Event | None,
) -> dict[str, list[Race]]:
    """Per method, the finished races of all prompts."""
    races: dict[str, list[Race]] = {method: [] for method in settings}
    for number, record in enumerate(prompts):
        tell(f"prompt {number + 1} of {len(prompts)}", 0.8 * number / len(prompts))
        for method, chosen in settings.items():
            builder = TraceBuilder()
            for event in explorer.race(record["prompt"], chosen, cancel=cancel):
                builder.add(event)
            if _cancelled(cancel):
                return races
            races[method].append(finished_race(record, number, builder.trace()))
    return races


def _methods(
    races: dict[str, list[Race]], racing: Sequence[str], plain_shares: Shares | None
) -> dict[str, MethodFigures]:
    """Figures of every method; plain's are those of all its lanes together."""
    lanes = [race.plain for group in races.values() for race in group]
    figures = {PLAIN: method_figures(lanes, [], plain_shares)}
    for method in racing:
        figures[method] = method_figures(
            [race.fast for race in races[method]],
            [race.figures.speedup for race in races[method]],
            shares(lap for race in races[method] for lap in race.laps),
        )
    return figures


def _identical(races: dict[str, list[Race]]) -> int:
    """Prompts on which every method wrote what plain decoding wrote."""
    groups = zip(*races.values(), strict=False)
    return sum(all(race.figures.identical for race in group) for group in groups)


def _overheads(
    explorer: Explorer, prompts: Sequence[str], settings: DecodeSettings
) -> list[Overhead]:
    """Of a method with heads, at the tree that was raced and at 64 nodes."""
    method = settings.method
    trees = [settings.tree, wide_tree(explorer.heads[method].heads.config.num_heads)]
    return [
        measure_overhead(
            explorer,
            prompts,
            decode_settings(method=method, tree=name, max_new_tokens=SIDE_TOKENS),
        )
        for name in dict.fromkeys(trees)
    ]


def _plain_shares(explorer: Explorer, prompts: Sequence[str]) -> Shares | None:
    """Where the time of a plain step goes."""
    settings = decode_settings(method=PLAIN, max_new_tokens=SIDE_TOKENS)
    return shares(
        item.laps
        for prompt in prompts
        for item in explorer.steps(explorer.encode(prompt, settings), settings)
        if isinstance(item, StepResult)
    )


def _context(explorer: Explorer) -> int:
    return min(CONTEXT, max(0, explorer.model.context_length - WIDTHS[-1]))


def _header(explorer: Explorer) -> dict[str, str | None]:
    model = explorer.model
    return {
        "model": model.name,
        "heads": ", ".join(chosen.name for chosen in explorer.heads.values()) or None,
        "backend": model.backend,
        "device": str(model.device),
    }
