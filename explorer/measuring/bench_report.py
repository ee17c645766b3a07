"""The report of a benchmark, and its conclusion in words."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel as Schema
from pydantic import ConfigDict, Field, computed_field

from explorer.analysis.compared import curve_sentence, evidence_sentences, predictions_sentence
from explorer.analysis.cost_curve import CostCurve
from explorer.analysis.floor import Floor
from explorer.analysis.headline import busy_words, headline
from explorer.analysis.races import CategoryFigures, MethodFigures, PromptFigures
from explorer.analysis.speedup import contains_one
from explorer.measuring.assisted_reference import AssistedReference
from explorer.measuring.llama_cpp import LlamaCpp
from explorer.measuring.memory import ExtraMemory
from explorer.measuring.method_details import MethodDetails
from explorer.measuring.overhead import Overhead
from explorer.measuring.reference import Reference
from explorer.records.methods import PLAIN
from explorer.records.peak_memory import PeakMemory

HEADS_METHODS = ("medusa", "hydra")
Verdict = Literal["even", "fast", "slow"]
OFTEN_SAID = 0.01  # of the base model: what Medusa heads are often said to add at most


class BenchReport(Schema):
    """The whole benchmark. `speedup` and `per_category` are the main method's over plain.

    `speedup` is the geometric mean over prompts and `half_width` that of its 95 % interval, which
    says how much it would change with other prompts of the kind. `details` has further figures
    of each method, and `unavailable` the reason why a method, or llama.cpp, did not run.
    """

    model_config = ConfigDict(frozen=True)

    model: str
    heads: str | None
    backend: str
    device: str
    machine: str = Field(default="", description="processor or GPU, and number of threads")
    created: str = Field(default="", description="ISO 8601, UTC; empty in older reports")
    main_method: str | None
    max_new_tokens: int
    tree: str
    prompts: int
    identical_prompts: int
    speedup: float | None
    half_width: float | None
    methods: dict[str, MethodFigures]
    per_category: dict[str, CategoryFigures]
    overhead: list[Overhead] = Field(default_factory=list)
    cost_curve: CostCurve | None
    floor: Floor | None = None
    peak_memory: PeakMemory | None = None
    reference: Reference | None = None
    assisted_reference: dict[str, AssistedReference] = Field(default_factory=dict)
    details: dict[str, MethodDetails] = Field(default_factory=dict)
    unavailable: dict[str, str] = Field(default_factory=dict)
    plain_over_generate: float | None = None
    llama_cpp: LlamaCpp | None = None
    races: list[PromptFigures]
    sentence: str

    @computed_field
    @property
    def fastest(self) -> str:
        """The verdict on all methods, in a sentence."""
        return headline(self.races)

    @computed_field
    @property
    def busy(self) -> str:
        """Why the timings say little, in a sentence; empty where the machine was at rest."""
        return busy_words(self.races)

    @computed_field
    @property
    def verdicts(self) -> dict[str, Verdict]:
        """Whether each method is faster than plain by more than its interval, or not clearly."""
        return {
            name: verdict(speedup, details.half_width)
            for name, details in self.details.items()
            if (speedup := self.methods[name].speedup) is not None
        }

    @computed_field
    @property
    def curve_sentence(self) -> str:
        """The cost curve in a line; empty if it was not measured."""
        return "" if self.cost_curve is None else curve_sentence(self.cost_curve)

    @computed_field
    @property
    def predictions_sentence(self) -> str:
        """How to read the predictions; empty without prompts."""
        found = {name: one.prediction for name, one in self.details.items() if one.prediction}
        return predictions_sentence(found) if self.prompts else ""

    @computed_field
    @property
    def evidence(self) -> dict[str, str]:
        """Whether the texts are plain's: a sentence on each method, and one on all ("")."""
        return evidence_sentences(self.races, self.prompts, self.backend, self.device)

    @computed_field
    @property
    def heads_memory(self) -> str:
        """What the heads add to the model's size, in a sentence; empty without heads."""
        for name in HEADS_METHODS:
            if name in self.details and (memory := self.details[name].memory):
                return memory_sentence(name, memory)
        return ""


def verdict(speedup: float, half_width: float | None) -> Verdict:
    """A speedup over plain; "even" where its 95 % interval contains 1, or is not known."""
    if half_width is None or contains_one(speedup, half_width):
        return "even"
    return "fast" if speedup > 1 else "slow"


def verdict_sentence(
    method: str | None, methods: dict[str, MethodFigures], half_width: float | None
) -> str:
    """Whether speculation pays on this machine, with the figures.

    `half_width` is the half-width of the speedup's 95 % interval; if that contains 1, there is no
    clear difference.
    """
    ours, plain = methods.get(method or ""), methods.get(PLAIN)
    if ours is None or plain is None or ours.speedup is None:
        return "No speculative method was measured, so this run cannot say whether one pays."
    if ours.step_ms is None or plain.step_ms is None:
        return "No step was measured, so this run cannot say whether speculation pays."
    needed = ours.step_ms / plain.step_ms
    facts = (
        f"{ours.tokens_per_second:.1f} against {plain.tokens_per_second:.1f} tokens/s; "
        f"{ours.tokens_per_step:.2f} tokens per step, and it pays from {needed:.2f}"
    )
    runs = f"{method} runs at {ours.speedup:.2f}× plain"
    if half_width is not None and contains_one(ours.speedup, half_width):
        runs += f", ± {half_width:.2f}"
        pays = "is neither clearly faster nor clearly slower than plain decoding"
    else:
        pays = "pays" if ours.speedup > 1 else "does not pay"
    return f"Speculation {pays} on this machine: {runs} ({facts})."


def memory_sentence(name: str, memory: ExtraMemory) -> str:
    """What a method's heads add, and what is often said of Medusa heads.

    The literature's "under 1 %" is of parameters, beside a large base model, without projections.
    """
    bytes_added = f"{memory.megabytes:.1f} MB, {_percent(memory.share)} of its bytes in memory"
    if not memory.parameters or not memory.base_parameters:
        return f"Besides the base model the heads of {name} hold {bytes_added}."
    share = memory.parameters / memory.base_parameters
    said = (
        "more than the “under 1 %” of parameters that is often said of Medusa heads: that is of "
        "larger base models, and without projections of the heads' own"
        if share > OFTEN_SAID
        else "of parameters under the 1 % that is often said of Medusa heads"
    )
    return (
        f"The heads of {name} add {memory.parameters / 1e6:.1f} million parameters to the base "
        f"model, {_percent(share)} of its own, and {bytes_added}: {said}."
    )


def _percent(share: float) -> str:
    return (f"{share:.1%}" if share < 0.1 else f"{share:.0%}").replace("%", " %")
