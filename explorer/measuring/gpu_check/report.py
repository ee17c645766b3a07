"""Takes a GPU check: all that it measures, one after the other (analysis/gpu_report.py)."""

from __future__ import annotations

import platform
import subprocess
import time
from collections.abc import Callable
from datetime import UTC, datetime
from importlib.metadata import version
from typing import TYPE_CHECKING

import torch

from explorer.analysis.cost_curve import CostCurve
from explorer.analysis.gpu_report import Bar, GpuReport, HeadCost, OneRow, Rates
from explorer.decoding.tree import Tree
from explorer.measuring.bandwidth import (
    matmul_rate,
    measure_copy_bandwidth,
    read_bandwidth,
)
from explorer.measuring.calibration import time_heads
from explorer.measuring.calibration_file import device_description
from explorer.measuring.cost_curve import measure_cost_curve
from explorer.measuring.floor import step_reads
from explorer.measuring.gpu_check.checks import all_checks, eagerly
from explorer.measuring.gpu_check.made_up import Shape, made_up_heads
from explorer.measuring.gpu_check.oracle import YIELDS, race_at
from explorer.measuring.overhead import measure_overhead
from explorer.measuring.peak_memory import peak_memory
from explorer.records.settings import decode_settings
from explorer.records.version import __version__

if TYPE_CHECKING:
    from explorer.measuring.lab_protocol import LabProtocol

WIDTHS = (1, 2, 4, 8, 16, 32, 64, 128)
HEADS = ("own", "truncated", "nf4")
BAR_YIELD = 2.5


def gpu_report(
    lab: LabProtocol,
    shape: Shape,
    tree: Tree,
    quick: bool = False,
    say: Callable[[str], None] = lambda line: None,
) -> GpuReport:
    """Check and measure the lab's model, which is of this shape, with the lab's Medusa heads.

    `quick` takes few rounds and short texts, for a test.
    """
    start, model, heads = time.perf_counter(), lab.model, lab.heads["medusa"].heads
    assert model.static is not None
    say("checks")
    checks = all_checks(model, heads, tree)
    say("what rows cost")
    context = min(128, shape.context - WIDTHS[-1] - 1)
    rounds = 1 if quick else 5
    fixed = measure_cost_curve(model, WIDTHS, context, rounds)
    with eagerly(model):
        eager = measure_cost_curve(model, WIDTHS, context, rounds)
    say("bandwidth and products")
    rates = _rates(model, 1 << 22 if quick else None)
    say("speedups at given yields")
    tokens = 24 if quick else 160
    yields = [race_at(model, heads, tree, asked, tokens) for asked in YIELDS]
    say("heads and recording")
    costs = _head_costs(lab, shape, repeats=2 if quick else 15)
    settings = decode_settings(method="medusa", tree=shape.tree, max_new_tokens=tokens)
    overhead = measure_overhead(lab, ["5 17 3 9 40 8 21 6"] * (1 if quick else 3), settings)
    found = {
        "checks": checks,
        "rates": rates,
        "one_row": _one_row(model, fixed, eager, rates),
        "fixed_shapes": fixed,
        "eager": eager,
        "heads": costs,
        "tree_rows": tree.n,
        "yields": yields,
        "recording": overhead.recording,
        "peak_memory": peak_memory(model.device),
    }
    return GpuReport(
        **_machine(model),
        **found,
        seconds=time.perf_counter() - start,
        bars=bars(found, model.device.type == "cuda"),
    )


def _machine(model) -> dict:
    on_gpu = model.device.type == "cuda"
    packages = ("torch", "transformers", "bitsandbytes")
    recordings = model.static.recordings
    return {
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "version": __version__,
        "device": device_description(model.device),
        "on_gpu": on_gpu,
        "driver": _driver() if on_gpu else "none: no GPU",
        "versions": {"python": platform.python_version()} | {p: version(p) for p in packages},
        "model": model.name,
        "backend": model.backend,
        "passes": model.static.sentence,
        "recordings": recordings.count,
        "recording_seconds": recordings.seconds,
    }


def _driver() -> str:
    """The driver's and CUDA's versions, as far as they can be asked for."""
    asked = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        words = subprocess.run(asked, capture_output=True, text=True, timeout=10).stdout.split()
    except (OSError, subprocess.SubprocessError):
        words = []
    return f"driver {words[0] if words else 'unknown'}, CUDA {torch.version.cuda}"


def _rates(model, size: int | None) -> Rates:
    return Rates(
        read_gb_s=read_bandwidth(model.device),
        copy_gb_s=measure_copy_bandwidth(model.device, size),
        matmul_tflops=matmul_rate(model.device, model.network.dtype),
    )


def _one_row(model, fixed: CostCurve, eager: CostCurve, rates: Rates) -> OneRow:
    reads = step_reads(model)
    floor = reads.floor_at(fixed.context_length, rates.copy_gb_s, 1, rates.matmul_tflops)
    memory = reads.floor_at(fixed.context_length, rates.copy_gb_s).milliseconds
    return OneRow(
        context_length=fixed.context_length,
        bytes=floor.bytes,
        memory_ms=memory,
        arithmetic_ms=floor.arithmetic_ms or 0.0,
        floor_ms=floor.milliseconds,
        fixed_shapes_ms=fixed.one_row_ms,
        eager_ms=eager.one_row_ms,
    )


def _head_costs(lab: LabProtocol, shape: Shape, repeats: int) -> list[HeadCost]:
    costs = []
    for kind in HEADS:
        own = kind == "own"
        heads = lab.heads["medusa"].heads if own else made_up_heads(lab.model, shape, kind)
        costs.append(
            HeadCost(
                kind=kind,
                bytes=heads.step_bytes(),
                milliseconds=time_heads(lab.model, heads, repeats),
            )
        )
    return costs


def bars(found: dict, on_gpu: bool) -> list[Bar]:
    """The targets for a data-centre GPU and what was measured."""
    middle = next(point for point in found["yields"] if point.asked == BAR_YIELD)
    outside = middle.shares.outside if middle.shares else None
    recording = found["recording"]
    measured = [
        ("one-row pass over its floor", "≤ 1.5", found["one_row"].over_floor, 1.5, -1),
        ("C(64)", "≤ 1.3", found["fixed_shapes"].at(64), 1.3, -1),
        ("step outside model and heads", "≤ 5 %", outside, 0.05, -1),
        (f"speedup at {BAR_YIELD} tokens per step", "≥ 2.0", middle.speedup, 2.0, 1),
        ("recording, slower", "≤ 3 %", recording, 0.03, -1),
    ]
    return [
        Bar(
            name=name,
            bar=text,
            measured=value,
            met=None if value is None or not on_gpu else sign * (value - bar) >= 0,
        )
        for name, text, value, bar, sign in measured
    ]
