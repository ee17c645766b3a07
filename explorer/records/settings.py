"""Settings of a run, checked at the edge (pydantic), with errors a person can act on."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    model_validator,
)

from explorer.records.errors import ExplorerError, first_fault
from explorer.records.methods import parameters

Backend = Literal["auto", "int4", "nf4", "bf16", "fp32"]
Device = Literal["auto", "cpu", "cuda"]
HeadsDtype = Literal["auto", "nf4"]
Acceptance = Literal["auto", "greedy", "sample", "typical"]
RootRule = Literal["draw", "greedy", "typical"]

MAX_NEW_TOKENS = 4096
MAX_PROMPT_CHARACTERS = 100_000
MAX_TREE_CHARACTERS = 20_000
MIN_TEMPERATURE = 1e-3  # below this, float32 logits overflow and only the argmax is left


class DecodeSettings(BaseModel):
    """How to decode one prompt.

    `acceptance` auto means greedy at temperature 0 and sample (lossless) above it. `epsilon` and
    `delta` belong to typical acceptance (Medusa, section 2.3.1), as does `root_rule`, which chooses
    the roots there. A `delta` of 0, or none, is √ε. `top_k` 0 means no limit.
    It also has the parameters of all methods (records/methods.py), as attributes.
    """

    model_config = ConfigDict(frozen=True, extra="allow")

    method: str = "medusa"
    tree: Annotated[
        str, StringConstraints(strip_whitespace=True, max_length=MAX_TREE_CHARACTERS)
    ] = "auto"
    acceptance: Acceptance = "auto"
    temperature: float = Field(default=0.0, ge=0.0, le=100.0, allow_inf_nan=False)
    top_p: float = Field(default=1.0, gt=0.0, le=1.0)
    top_k: int = Field(default=0, ge=0, lt=2**63)
    epsilon: float = Field(default=0.09, gt=0.0, le=1.0)
    delta: float = Field(default=0.3, gt=0.0, le=1.0)
    root_rule: RootRule = "draw"
    seed: int = Field(default=0, ge=0, lt=2**63)
    max_new_tokens: int = Field(default=128, ge=1, le=MAX_NEW_TOKENS)
    system_prompt: str | None = Field(default=None, max_length=MAX_PROMPT_CHARACTERS)
    raw_prompt: bool = False

    if TYPE_CHECKING:  # the parameters of methods, which pydantic keeps as extra fields

        def __getattr__(self, name: str) -> Any: ...

    @model_validator(mode="before")
    @classmethod
    def _with_parameters(cls, given: dict[str, object]) -> dict[str, object]:
        """The parameters of all methods: the given values, checked, or the defaults; and δ."""
        known = parameters()
        for name in given:
            if name not in cls.model_fields and name not in known:
                raise ValueError(f"{name}: there is no such setting.")
        own: dict[str, object] = {
            n: p.checked(given[n]) if n in given else p.default for n, p in known.items()
        }
        epsilon = given.get("epsilon", 0.0)
        if not given.get("delta") and isinstance(epsilon, int | float) and epsilon > 0:
            own["delta"] = math.sqrt(epsilon)
        return {name: value for name, value in given.items() if name != "delta" or value} | own

    @property
    def rule(self) -> Literal["greedy", "sample", "typical"]:
        """The acceptance rule after `auto` is resolved."""
        if self.acceptance != "auto":
            return self.acceptance
        return "greedy" if self.temperature == 0 else "sample"


def setting_names() -> list[str]:
    """The names of all settings, those of single methods at the end."""
    return [*DecodeSettings.model_fields, *parameters()]


def decode_settings(**values: Any) -> DecodeSettings:
    """Checked settings. Raises ExplorerError that names the first invalid setting."""
    try:
        settings = DecodeSettings.model_validate(values)
    except ValidationError as error:
        raise ExplorerError(first_fault(error)) from error
    if 0 < settings.temperature < MIN_TEMPERATURE:
        raise ExplorerError(
            f"A temperature of {settings.temperature:g} is too low to sample with: use 0 for "
            f"greedy decoding, or at least {MIN_TEMPERATURE:g}."
        )
    if settings.acceptance == "greedy" and settings.temperature > 0:
        raise ExplorerError(
            "Greedy acceptance needs temperature 0: set the temperature to 0 or choose 'sample'."
        )
    if settings.acceptance in ("sample", "typical") and settings.temperature == 0:
        raise ExplorerError(
            f"'{settings.acceptance}' acceptance needs a temperature above 0: raise it, or choose "
            "'greedy', which is what it comes to at 0."
        )
    if settings.candidates == "drawn" and settings.rule != "sample":
        raise ExplorerError(
            "Drawn candidates need the acceptance rule 'sample': set a temperature above 0 and "
            "leave the rule at auto, or choose top candidates."
        )
    return settings
