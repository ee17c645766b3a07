"""The bytes that the steps of a loaded lab read, and the floors of a benchmark."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from explorer.analysis.floor import Floor, StepReads, floor_report, mean_context
from explorer.records.methods import find_method
from explorer.records.settings import DecodeSettings

if TYPE_CHECKING:
    from explorer.analysis.races import MethodFigures, Race
    from explorer.heads.heads import MedusaHeads
    from explorer.measuring.lab_protocol import LabProtocol
    from explorer.models.base import LanguageModel


def step_reads(model: LanguageModel, heads: MedusaHeads | None = None) -> StepReads:
    """The bytes of one step: the model's weights once and, with heads, theirs once."""
    weights = model.step_bytes(0)
    return StepReads(
        weights=weights,
        heads=heads.step_bytes() if heads else 0,
        cache_per_token=model.step_bytes(1) - weights,
        row_operations=model.row_operations(),
    )


def reads_of(lab: LabProtocol, settings: DecodeSettings) -> StepReads | None:
    """The bytes that a step of the settings' method reads; None for a draft model, which runs a
    varying number of times in a step. Raises ExplorerError if heads are missing."""
    if find_method(settings.method, lab.heads).draft_model:
        return None
    chosen = lab.heads_for(settings)
    return step_reads(lab.model, chosen.heads if chosen else None)


def measured_floor(
    lab: LabProtocol,
    settings: Mapping[str, DecodeSettings],
    races: Iterable[Race],
    figures: Mapping[str, MethodFigures],
    bandwidth: float,
) -> Floor:
    """Floors of plain and of the methods in `settings`, at the mean context of the races, where
    memory is read with `bandwidth` GB/s."""
    reads = {method: reads_of(lab, chosen) for method, chosen in settings.items()}
    return floor_report(
        step_reads(lab.model),
        {method: read for method, read in reads.items() if read is not None},
        bandwidth,
        mean_context((len(prompt), len(plain)) for prompt, plain, _ in (r.texts for r in races)),
        {method: figure.step_ms for method, figure in figures.items()},
    )
