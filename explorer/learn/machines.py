"""Machines of the memory-wall chapter: this product's own measurement, and GPUs by data sheet."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache

from explorer.analysis.cost_curve import CostCurve
from explorer.analysis.formulas import pass_flop
from explorer.records.paths import ASSETS

PATH = ASSETS / "learn" / "machine.json"


@dataclass(frozen=True)
class Machine:
    """`bandwidth` in bytes a second, `flops` in FLOP a second, `memory` in bytes.

    `source`: the data sheet, or when and how it was measured.
    """

    name: str
    bandwidth: float
    flops: float
    memory: float | None
    source: str


# Peak figures: dense 16-bit tensor-core FLOP/s with 32-bit sums, without sparsity.
GPUS = (
    Machine("RTX 4090", 1008e9, 165.2e12, 24e9, "NVIDIA Ada GPU architecture, white paper, 2022"),
    Machine("A100 80 GB", 2039e9, 312e12, 80e9, "NVIDIA A100 data sheet (SXM), 2021"),
    Machine("H100", 3.35e12, 989.4e12, 80e9, "NVIDIA H100 data sheet (SXM), 2023"),
    Machine("H200", 4.8e12, 989.4e12, 141e9, "NVIDIA H200 data sheet (SXM), 2024"),
)


@dataclass(frozen=True)
class Recorded:
    """What tools/record_machine.py measured of one machine."""

    device: str
    model: str
    backend: str
    measured: str
    read_gb_per_s: float
    parameters: int
    pass_bytes: int
    curve: CostCurve

    @property
    def flops(self) -> float:
        """FLOP a second of the widest step of the curve: its rows over the time they add."""
        (*_, n, m), (*_, short, long) = self.curve.rows, self.curve.milliseconds
        return pass_flop(self.parameters, m - n) / (long - short) * 1e3

    @property
    def bits(self) -> float:
        """Bits that a pass reads per parameter, scales and KV cache included."""
        return 8 * self.pass_bytes / self.parameters

    @property
    def floor_ms(self) -> float:
        """The time of reading a pass's bytes at the measured bandwidth."""
        return self.pass_bytes / self.read_gb_per_s / 1e6

    def machine(self) -> Machine:
        """The same in the form of the GPUs."""
        return Machine(
            "CPU, recorded",
            self.read_gb_per_s * 1e9,
            self.flops,
            None,
            f"{self.device}, {self.backend}, measured {self.measured}",
        )


@cache
def recorded() -> Recorded:
    """The recorded machine."""
    read = json.loads(PATH.read_text(encoding="utf-8"))
    return Recorded(**read | {"curve": CostCurve.model_validate(read["curve"])})
