"""A comparison without a model: real figures of scripted races."""

from __future__ import annotations

import threading
import time
import zlib
from collections.abc import Iterator, Sequence
from types import SimpleNamespace

import torch

from explorer.analysis.cost_curve import CostCurve
from explorer.analysis.floor import StepReads, floor_report
from explorer.analysis.races import Race, finished_race
from explorer.analysis.shares import shares
from explorer.measuring.bench_races import report_of, settings_of
from explorer.measuring.comparison import Turn
from explorer.measuring.memory import ExtraMemory
from explorer.records.errors import ExplorerError
from explorer.records.schema import Trace
from explorer.records.settings import DecodeSettings
from tests.ui.fakes import FakeLab

CURVE = CostCurve(
    context_length=128,
    rounds=5,
    one_row_ms=20,
    rows=[1, 2, 4, 8, 16],
    milliseconds=[20, 21, 24, 30, 44],
    ratios=[1, 1.05, 1.2, 1.5, 2.2],
)
MEGABYTES = {"medusa": 12.1, "hydra": 12.4, "draft-model": 31.0}
PLAIN_READS = StepReads(weights=100_000_000, heads=0, cache_per_token=40_000)
MEDUSA_READS = StepReads(weights=100_000_000, heads=6_000_000, cache_per_token=40_000)
STEP_MS = {"plain": 10.5, "medusa": 12.25}
MODEL = SimpleNamespace(
    model=SimpleNamespace(name="SmolLM2-135M", backend="int4", device=torch.device("cpu")), heads={}
)


def comparison(
    lab: FakeLab,
    prompts: Sequence[dict[str, str]],
    methods: Sequence[str],
    max_new_tokens: int,
    tree: str = "auto",
    cancel: threading.Event | None = None,
) -> Iterator[Turn]:
    """As explorer.measuring.comparison.comparison. A prompt with "differ" is not written as plain
    would by the first method; "refuse" and "explode" fail; without "quick" it takes its time.
    """
    if any("refuse" in record["prompt"] for record in prompts):
        raise ExplorerError("The prompt <img src=x onerror=alert(1)> is too long: shorten it.")
    settings = settings_of(methods, max_new_tokens=max_new_tokens, tree=tree)
    lacking = {"hydra": "The method 'hydra' needs Hydra heads."} if "hydra" in settings else {}
    settings = {name: chosen for name, chosen in settings.items() if name not in lacking}
    memory = {name: _memory(MEGABYTES.get(name, 0)) for name in settings}
    races: dict[str, list[Race]] = {name: [] for name in settings}
    total = len(prompts) * len(settings)
    for number, record in enumerate(prompts):
        if "explode" in record["prompt"]:
            raise RuntimeError("a bug")
        for place, (name, chosen) in enumerate(settings.items()):
            if cancel is not None and cancel.is_set():
                break
            time.sleep(0 if "quick" in record["prompt"] else 10 * lab.pace)
            races[name].append(_race(lab, record, number, chosen, place == 0))
            yield Turn(
                f"Prompt {number + 1} of {len(prompts)}", sum(map(len, races.values())) / total
            )
        done = min(map(len, races.values()))
        whole = {name: kept[:done] for name, kept in races.items()}
        floor = floor_report(PLAIN_READS, {"medusa": MEDUSA_READS}, 20.0, 128, STEP_MS)
        more = {"unavailable": lacking, "floor": floor}
        found = report_of(MODEL, whole, settings, memory, _plain_shares(), CURVE, **more)
        yield Turn(f"Prompt {number + 1} of {len(prompts)} done", done / len(prompts), found)
        if cancel is not None and cancel.is_set():
            return


def _race(
    lab: FakeLab, record: dict[str, str], number: int, chosen: DecodeSettings, first: bool
) -> Race:
    seed = zlib.crc32(f"{record['prompt']}{chosen.method}".encode())
    trace = lab.trace(record["prompt"], **chosen.model_dump() | {"seed": seed})
    if first and "differ" in record["prompt"]:
        trace = _differing(trace)
    return finished_race(record, number, trace)


def _differing(trace: Trace) -> Trace:
    *before, last = trace.rival.steps
    other = next(token for token in trace.pieces if token != last.emitted[0])
    changed = last.model_copy(update={"token_ids": [other], "emitted": [other]})
    rival = trace.rival.model_copy(update={"steps": [*before, changed]})
    return trace.model_copy(update={"rival": rival})


def _memory(megabytes: float) -> ExtraMemory:
    return ExtraMemory(
        weights_bytes=round(1e6 * megabytes),
        cache_bytes=0,
        context_length=128,
        base_bytes=98_000_000,
    )


def _plain_shares():
    return shares([{"verify": 19.0, "accept": 0.3, "commit": 0.2}])
