"""Chapter 1: why one token costs a pass over all weights."""

from __future__ import annotations

from dataclasses import asdict

from explorer.analysis.formulas import (
    arithmetic_intensity,
    free_rows,
    idle_share,
    pass_flop,
    pass_seconds,
    weight_bytes,
)
from explorer.learn.chapter import Chapter, See
from explorer.learn.formats import count, size
from explorer.learn.machines import GPUS, recorded
from explorer.learn.outline import TITLES

LARGE = 70e9
H100 = next(gpu for gpu in GPUS if gpu.name == "H100")


def numbers() -> dict[str, object]:
    """What the text says of a 70B model on an H100, and of the recorded machine."""
    own = recorded()
    seconds = pass_seconds(LARGE, 4, H100.bandwidth, H100.flops)
    return {
        "bytes_16": weight_bytes(LARGE, 16),
        "bytes_4": weight_bytes(LARGE, 4),
        "intensity": arithmetic_intensity(16),
        "idle": idle_share(16, H100.bandwidth, H100.flops),
        "rows_16": free_rows(16, H100.bandwidth, H100.flops),
        "rows_4": free_rows(4, H100.bandwidth, H100.flops),
        "ms_4": 1e3 * seconds,
        "rate_4": 1 / seconds,
        "own": own,
        "own_intensity": arithmetic_intensity(own.bits),
        "own_idle": idle_share(own.bits, own.read_gb_per_s * 1e9, own.flops),
        "own_rows": free_rows(own.bits, own.read_gb_per_s * 1e9, own.flops),
        "own_factor": own.curve.one_row_ms / own.floor_ms,
        "gpus": GPUS,
    }


def data() -> dict[str, object]:
    """Machines to choose from, and the recorded passes."""
    own = recorded()
    return {
        "machines": [asdict(machine) for machine in (own.machine(), *GPUS)],
        "recorded": {
            "model": own.model,
            "parameters": own.parameters,
            "bits": own.bits,
            "rows": own.curve.rows,
            "milliseconds": own.curve.milliseconds,
            "source": own.machine().source,
        },
        "question": _question(),
    }


def _question() -> dict[str, object]:
    read = weight_bytes(LARGE, 4)
    offered = (
        1 / pass_seconds(LARGE, 16, H100.bandwidth, H100.flops),
        1 / pass_seconds(LARGE, 4, H100.bandwidth, H100.flops),
        H100.flops / pass_flop(LARGE),  # what the arithmetic alone would allow
    )
    return {
        "ask": "A 70B model in 4 bits on one H100: how many tokens a second can plain decoding "
        "write at most?",
        "options": [count(round(each)) for each in offered],
        "right": 1,
        "why": f"{size(read)} at {H100.bandwidth / 1e12:.2f} TB/s take "
        f"{1e3 * read / H100.bandwidth:.1f} ms, and every token reads them all.",
    }


def see() -> See:
    """The recorded run of code: its cost panel shows what a step spends on reading."""
    return See("code", 2, "Below, “What the step cost” sets its pass beside one over a single row.")


KEY = "memory_wall"
CHAPTER = Chapter(KEY, TITLES[KEY], numbers, data, see)
