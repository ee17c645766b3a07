"""The races of a benchmark as they run, and a report from those that have ended."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from explorer.analysis.cost_curve import CostCurve
from explorer.analysis.headline import busy_words
from explorer.analysis.races import (
    MethodFigures,
    Race,
    categories,
    finished_race,
    geometric_half_width,
    geometric_mean,
    method_figures,
)
from explorer.analysis.shares import Shares, shares
from explorer.measuring.bench_report import BenchReport, verdict_sentence
from explorer.measuring.calibration_file import device_description
from explorer.measuring.floor import measured_floor
from explorer.measuring.memory import ExtraMemory
from explorer.measuring.method_details import method_details
from explorer.records.events import StepRecorded, TraceBuilder
from explorer.records.methods import PLAIN
from explorer.records.prompts import Prompt
from explorer.records.settings import DecodeSettings, decode_settings

if TYPE_CHECKING:
    from explorer.measuring.lab_protocol import LabProtocol

Races = dict[str, list[Race]]


def settings_of(racing: Sequence[str], **values: Any) -> dict[str, DecodeSettings]:
    """Greedy settings of every method that races plain; plain's own if there is none."""
    return {method: decode_settings(method=method, **values) for method in racing or [PLAIN]}


def fastest_method(races: Races) -> str | None:
    """The method with the highest speedup over plain; None if there is none."""
    speedups = {
        method: geometric_mean(race.figures.speedup for race in group) or 0.0
        for method, group in races.items()
        if method != PLAIN
    }
    return max(speedups, key=lambda method: speedups[method]) if speedups else None


def race_turns(
    lab: LabProtocol,
    prompts: Sequence[Prompt],
    settings: Mapping[str, DecodeSettings],
    cancel: threading.Event | None = None,
) -> Iterator[Race | float]:
    """Every prompt by every method, a step at a time: the finished share after each step, and
    each race when it has ended. A cancelled race is not included, and ends the rest.
    """
    done, total = 0, len(prompts) * len(settings)
    for number, record in enumerate(prompts):
        for chosen in settings.values():
            builder, tokens = TraceBuilder(), 0
            for event in lab.race(record["prompt"], chosen, cancel=cancel):
                builder.add(event)
                tokens += isinstance(event, StepRecorded) and event.lane == 1
                yield (done + min(1.0, tokens / chosen.max_new_tokens)) / total
            if cancel is not None and cancel.is_set():
                return
            done += 1
            yield finished_race(record, number, builder.trace())


def report_of(
    lab: LabProtocol,
    races: Races,
    settings: Mapping[str, DecodeSettings],
    memory: Mapping[str, ExtraMemory],
    plain_shares: Shares | None = None,
    curve: CostCurve | None = None,
    bandwidth: float | None = None,
    **more: Any,
) -> BenchReport:
    """The report on the races that have ended; `more` are further fields of it.

    The first method besides plain is the main one. Without a cost curve there are no predictions,
    and without the bandwidth (GB/s) there is no floor.
    """
    racing = [method for method in settings if method != PLAIN]
    main = racing[0] if racing else None
    first = next(iter(settings.values()))
    mains = [race.figures for race in races[main]] if main else []
    figures = _methods(races, racing, plain_shares)
    half_width = geometric_half_width(race.speedup for race in mains)
    fields = {
        "main_method": main,
        "max_new_tokens": first.max_new_tokens,
        "tree": first.tree,
        "prompts": len(races[main or PLAIN]),
        "identical_prompts": _identical(races),
        "speedup": figures[main].speedup if main else None,
        "half_width": half_width,
        "methods": figures,
        "per_category": categories(mains),
        "cost_curve": curve,
        "floor": bandwidth
        and measured_floor(
            lab, settings, [r for group in races.values() for r in group], figures, bandwidth
        ),
        "details": {
            method: method_details(method, races[method], memory.get(method), curve)
            for method in racing
        },
        "races": [race.figures for group in races.values() for race in group],
        "sentence": busy_words(mains) or verdict_sentence(main, figures, half_width),
    }
    return BenchReport.model_validate(_header(lab) | fields | more)


def _methods(
    races: Races, racing: Sequence[str], plain_shares: Shares | None
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


def _identical(races: Races) -> int:
    """Prompts on which every method wrote what plain decoding wrote."""
    groups = zip(*races.values(), strict=False)
    return sum(all(race.figures.identical for race in group) for group in groups)


def _header(lab: LabProtocol) -> dict[str, object]:
    model = lab.model
    return {
        "model": model.name,
        "heads": ", ".join(chosen.name for chosen in lab.heads.values()) or None,
        "backend": model.backend,
        "device": str(model.device),
        "machine": device_description(model.device),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
    }
