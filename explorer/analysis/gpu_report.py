"""What a GPU check writes down: all that it measured, and how that stands to the bars."""

from __future__ import annotations

from pydantic import BaseModel as Schema
from pydantic import ConfigDict

from explorer.analysis.cost_curve import CostCurve
from explorer.analysis.cost_file import BatchCurve, CostFile
from explorer.analysis.shares import Shares
from explorer.records.peak_memory import PeakMemory


class Check(Schema):
    """`measured` must not be above `limit`."""

    model_config = ConfigDict(frozen=True)

    name: str
    measured: float
    limit: float
    of: str

    @property
    def ok(self) -> bool:
        """Whether it holds."""
        return self.measured <= self.limit


class YieldPoint(Schema):
    """A race at one yield: `asked` and `measured` tokens per step; milliseconds of mean steps."""

    model_config = ConfigDict(frozen=True)

    asked: float
    measured: float
    plain_ms: float
    step_ms: float
    speedup: float
    plain_shares: Shares | None
    shares: Shares | None


class Rates(Schema):
    """What this machine reached: GB/s of reading and of copying, TFLOP/s of products."""

    model_config = ConfigDict(frozen=True)

    read_gb_s: float
    copy_gb_s: float
    matmul_tflops: float


class OneRow(Schema):
    """A one-row pass and its floor: bytes over copy bandwidth, operations over their rate."""

    model_config = ConfigDict(frozen=True)

    context_length: int
    bytes: int
    memory_ms: float
    arithmetic_ms: float
    floor_ms: float
    fixed_shapes_ms: float
    eager_ms: float

    @property
    def over_floor(self) -> float:
        """The pass in fixed shapes, in floors."""
        return self.fixed_shapes_ms / self.floor_ms


class HeadCost(Schema):
    """Heads of one kind: the bytes that a draft reads, and its milliseconds."""

    model_config = ConfigDict(frozen=True)

    kind: str
    bytes: int
    milliseconds: float


class Bar(Schema):
    """A bar, and what was measured; `met` is None where there is no GPU to judge."""

    model_config = ConfigDict(frozen=True)

    name: str
    bar: str
    measured: float | None
    met: bool | None


class GpuReport(Schema):
    """All figures were measured in one process; times are in milliseconds."""

    model_config = ConfigDict(frozen=True)

    created: str
    version: str
    device: str
    on_gpu: bool
    driver: str
    versions: dict[str, str]
    model: str
    backend: str
    passes: str
    recordings: int
    recording_seconds: float
    checks: list[Check]
    rates: Rates
    one_row: OneRow
    fixed_shapes: CostCurve
    eager: CostCurve
    heads: list[HeadCost]
    tree_rows: int
    yields: list[YieldPoint]
    recording: float | None
    peak_memory: PeakMemory
    seconds: float
    bars: list[Bar]

    @property
    def rest_ms(self) -> float:
        """Draft, accept and commit of a step with a tree, in the race at the middle yield."""
        middle = self.yields[len(self.yields) // 2]
        return middle.shares.outside * middle.step_ms if middle.shares else 0.0

    def costs(self) -> CostFile:
        """What the Tree lab reads."""
        return CostFile(
            model=self.model,
            backend=self.backend,
            device=self.device,
            measured=self.created,
            heads_ms=self.heads[0].milliseconds,
            rest_ms=self.rest_ms,
            curves=[BatchCurve(batch=1, curve=self.fixed_shapes)],
        )
