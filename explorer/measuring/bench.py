"""The race over many prompts: every method against plain decoding, with sums and means.

Each prompt is a race of its own, interleaved with its own plain lane, so a speedup is always of
two lanes that ran at the same time. The overall speedup is the geometric mean over prompts: each
prompt counts the same, however long its reply. It differs from the ratio of the two columns of
tokens/s, which are over all tokens.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from explorer.analysis.races import Race
from explorer.analysis.shares import shares
from explorer.decoding.loop import StepResult
from explorer.measuring.assisted_reference import measure_assisted
from explorer.measuring.bandwidth import read_bandwidth
from explorer.measuring.bench_races import (
    Races,
    fastest_method,
    race_turns,
    report_of,
    settings_of,
)
from explorer.measuring.bench_report import BenchReport
from explorer.measuring.cost_curve import WIDTHS, measure_cost_curve
from explorer.measuring.llama_cpp import LLAMA_CPP, measure_llama_cpp
from explorer.measuring.memory import extra_memory
from explorer.measuring.overhead import Overhead, measure_overhead, wide_tree
from explorer.measuring.peak_memory import peak_memory
from explorer.measuring.reference import measure_reference
from explorer.records.errors import ExplorerError
from explorer.records.methods import PLAIN
from explorer.records.progress import Progress, quiet
from explorer.records.prompts import Prompt
from explorer.records.settings import DecodeSettings, decode_settings

if TYPE_CHECKING:
    from explorer.measuring.lab_protocol import LabProtocol

DEFAULT_METHODS = (PLAIN, "medusa")
SIDE_PROMPTS = 6  # prompts for the overhead, plain's step shares and the reference
SIDE_TOKENS = 64
CONTEXT = 128
RACES = 0.8  # share of the progress; the rest is for the side measurements
REFERENCED = 0.6  # share of the progress if every prompt also runs beside llama.cpp


def bench(
    lab: LabProtocol,
    prompts: Sequence[Prompt],
    methods: Sequence[str] = DEFAULT_METHODS,
    max_new_tokens: int = 128,
    tree: str = "auto",
    reference: bool = False,
    progress: Progress | None = None,
    cancel: threading.Event | None = None,
    **parameters: Any,
) -> BenchReport:
    """Race every method but plain against plain on every prompt, greedily.

    `prompts` are records with "prompt" and optionally "id" and "category". The first method
    besides plain is the main one. With `reference`, methods that transformers' generate() has,
    too, are compared with it, and plain and the fastest method with llama.cpp; if that cannot
    run, `unavailable` says why. `parameters` are those of single methods (records/methods.py). A
    cancelled benchmark reports on the races that it finished. Raises ExplorerError for unknown
    methods, bad settings or no prompts.
    """
    if not prompts:
        raise ExplorerError("A benchmark needs at least one prompt.")
    progress = progress or quiet
    most = REFERENCED if reference else 1.0

    def report_progress(text: str, share: float | None) -> None:
        progress(text, most * (share or 0.0))

    racing = [method for method in dict.fromkeys(methods) if method != PLAIN]
    chosen = settings_of(racing, tree=tree, max_new_tokens=max_new_tokens, **parameters)
    races = _races(lab, prompts, chosen, report_progress, cancel)
    if cancel is not None and cancel.is_set():
        return report_of(lab, races, chosen, {})
    memory = {method: extra_memory(lab, chosen[method]) for method in racing}
    side = _measured_aside(lab, _side_prompts(prompts), chosen, reference, report_progress)
    if reference:
        side |= _beside_llama_cpp(lab, prompts, races, chosen, progress)
    return report_of(lab, races, chosen, memory, **side)


def _races(
    lab: LabProtocol,
    prompts: Sequence[Prompt],
    settings: Mapping[str, DecodeSettings],
    report_progress: Progress,
    cancel: threading.Event | None,
) -> Races:
    """Per method, the finished races of all prompts."""
    races: Races = {method: [] for method in settings}
    report_progress(f"prompt 1 of {len(prompts)}", 0.0)
    for turn in race_turns(lab, prompts, settings, cancel):
        if isinstance(turn, Race):
            races[turn.figures.method].append(turn)
            done = sum(map(len, races.values()))
            number = min(len(prompts), 1 + done // len(settings))
            share = done / (len(prompts) * len(settings))
            report_progress(f"prompt {number} of {len(prompts)}", RACES * share)
    return races


def _measured_aside(
    lab: LabProtocol,
    prompts: Sequence[str],
    chosen: Mapping[str, DecodeSettings],
    reference: bool,
    report_progress: Progress,
) -> dict[str, Any]:
    """The measurements besides the races, on a few prompts: fields for `report_of`."""
    main = next(iter(chosen))
    report_progress("where the time of a step goes", RACES)
    side: dict[str, Any] = {
        "plain_shares": shares(lap for prompt in prompts for lap in plain_laps(lab, prompt)),
        "overhead": _overheads(lab, prompts, chosen[main]) if main in lab.heads else [],
    }
    report_progress("cost curve", 0.9)
    side["curve"] = measure_cost_curve(lab.model, WIDTHS, curve_context(lab))
    side["bandwidth"] = read_bandwidth(lab.model.device)
    side["peak_memory"] = peak_memory(lab.model.device)
    if reference:
        report_progress("transformers' generate()", 0.95)
        compared = measure_reference(lab, prompts, SIDE_TOKENS)
        side["reference"] = compared
        side["plain_over_generate"] = compared.plain_over_generate
        side["assisted_reference"] = measure_assisted(lab, prompts, _shortened(chosen))
    return side


def _beside_llama_cpp(
    lab: LabProtocol,
    prompts: Sequence[Prompt],
    races: Races,
    chosen: Mapping[str, DecodeSettings],
    report_progress: Progress,
) -> dict[str, Any]:
    """llama.cpp's figures on all prompts, or why there are none: fields for `report_of`."""
    fastest = fastest_method(races)
    plain = next(iter(chosen.values())).model_copy(update={"method": PLAIN})

    def heard(replies: int) -> None:
        number = max(1, replies)  # the first is a warm-up
        share = REFERENCED + (1 - REFERENCED) * (number - 1) / len(prompts)
        report_progress(f"llama.cpp, prompt {number} of {len(prompts)}", share)

    try:
        found = measure_llama_cpp(
            lab, [record["prompt"] for record in prompts], plain, chosen.get(fastest or ""), heard
        )
    except ExplorerError as error:
        return {"unavailable": {LLAMA_CPP: str(error)}}
    return {"llama_cpp": found}


def plain_laps(lab: LabProtocol, prompt: str) -> Iterator[dict[str, float]]:
    """The parts of each plain step's time, in seconds."""
    settings = decode_settings(method=PLAIN, max_new_tokens=SIDE_TOKENS)
    for item in lab.steps(lab.encode(prompt, settings), settings):
        if isinstance(item, StepResult):
            yield item.laps


def curve_context(lab: LabProtocol) -> int:
    """Tokens in the cache while the cost curve is measured."""
    return min(CONTEXT, max(0, lab.model.context_length - WIDTHS[-1]))


def _shortened(chosen: Mapping[str, DecodeSettings]) -> dict[str, DecodeSettings]:
    """The same settings for SIDE_TOKENS tokens."""
    update = {"max_new_tokens": SIDE_TOKENS}
    return {name: settings.model_copy(update=update) for name, settings in chosen.items()}


def _side_prompts(prompts: Sequence[Prompt]) -> list[str]:
    """A few of the prompts, evenly spread over them."""
    every = -(-len(prompts) // SIDE_PROMPTS)
    return [record["prompt"] for record in prompts[::every]]


def _overheads(
    lab: LabProtocol, prompts: Sequence[str], settings: DecodeSettings
) -> list[Overhead]:
    """The overhead of a method with heads, at its tree in the races and at 64 nodes."""
    method = settings.method
    trees = [settings.tree, wide_tree(lab.heads[method].heads.config.num_heads)]
    return [
        measure_overhead(
            lab,
            prompts,
            decode_settings(method=method, tree=name, max_new_tokens=SIDE_TOKENS),
        )
        for name in dict.fromkeys(trees)
    ]
