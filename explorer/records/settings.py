"""Settings of a run, checked at the edge (pydantic), with errors a person can act on."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel as Schema
from pydantic import ConfigDict, Field, StringConstraints, ValidationError, model_validator

from explorer.records.errors import ExplorerError, first_fault
from explorer.records.methods import parameters

Backend = Literal["auto", "int4", "nf4", "bf16", "fp32"]
Device = Literal["auto", "cpu", "cuda"]
HeadsDtype = Literal["auto", "nf4"]
Acceptance = Literal["auto", "greedy", "sample", "typical"]
RootRule = Literal["draw", "greedy", "typical"]

TYPICAL = ("epsilon", "delta", "root_rule")  # settings that typical acceptance alone uses
CHOICES = {  # what the choices of a setting mean
    "acceptance": {
        "auto": "by temperature",
        "greedy": "lossless",
        "sample": "lossless",
        "typical": "lossy",
    },
    "root_rule": {
        "draw": "all tokens",
        "greedy": "the paper's rule",
        "typical": "tokens above the bar",
    },
}
MAX_NEW_TOKENS = 4096
MAX_PROMPT_CHARACTERS = 100_000
MAX_TREE_CHARACTERS = 20_000
MIN_TEMPERATURE = 1e-3  # below this, float32 logits overflow and only the argmax is left


class DecodeSettings(Schema):
    """How to decode one prompt.

    `acceptance` auto means greedy at temperature 0 and sample (lossless) above it. `epsilon` and
    `delta` belong to typical acceptance (Medusa, section 2.3.1), as does `root_rule`, which chooses
    the roots there. A `delta` of 0, or none, is √ε. `top_k` 0 means no limit.
    It also has the parameters of all methods (records/methods.py), as attributes. Pages, command
    line and API take each setting's title, description and range from here.
    """

    model_config = ConfigDict(frozen=True, extra="allow")

    method: str = Field(
        default="medusa",
        title="Method",
        description="who guesses: heads (medusa, hydra), a small draft model, the base model "
        "itself (lookahead), or the text so far (prompt-lookup)",
    )
    tree: Annotated[
        str, StringConstraints(strip_whitespace=True, max_length=MAX_TREE_CHARACTERS)
    ] = Field(
        default="auto",
        title="Candidate tree",
        description="auto: each step checks the guesses expected to repay their cost here; fixed: "
        "one tree for all steps; also root, chain:3, cartesian:3,2,1, dynamic:8, or rank paths "
        "(medusa_choices) as JSON: [[0], [1], [0, 0]]",
    )
    acceptance: Acceptance = Field(
        default="auto",
        title="Acceptance rule",
        description="auto: greedy at temperature 0, else sample; lossless: the text is, or is "
        "distributed as, the base model's own",
    )
    temperature: float = Field(
        default=0.0,
        ge=0.0,
        le=100.0,
        allow_inf_nan=False,
        title="Temperature",
        description="0: always the likeliest token (greedy); above 0: sampling",
    )
    top_p: float = Field(
        default=1.0,
        gt=0.0,
        le=1.0,
        title="Top-p",
        description="draw among the likeliest tokens that together have probability p; 1: all",
    )
    top_k: int = Field(
        default=0,
        ge=0,
        lt=2**63,
        title="Top-k",
        description="draw among the k likeliest tokens; 0: all",
    )
    epsilon: float = Field(
        default=0.09,
        gt=0.0,
        le=1.0,
        title="ε of typical acceptance",
        description="a guess that is likelier than this is above the bar; top-p and top-k do not "
        "count",
    )
    delta: float = Field(
        default=0.3,
        gt=0.0,
        le=1.0,
        title="δ of typical acceptance",
        description="the bar is the smaller of ε and δ·exp(−entropy): unsure model, lower bar; "
        "0: √ε",
    )
    root_rule: RootRule = Field(
        default="draw",
        title="Root of typical acceptance",
        description="how the token after the accepted path is chosen: a draw, the likeliest, or a "
        "draw above the bar; top-p and top-k count in a draw from all tokens only",
    )
    seed: int = Field(
        default=0,
        ge=0,
        lt=2**63,
        title="Seed",
        description="with the same seed and settings, the text is the same",
    )
    max_new_tokens: int = Field(
        default=128,
        ge=1,
        le=MAX_NEW_TOKENS,
        title="Max new tokens",
        description="the most tokens of a reply, for both methods of a race",
    )
    system_prompt: str | None = Field(
        default=None,
        max_length=MAX_PROMPT_CHARACTERS,
        title="System prompt",
        description="instructions for a chat model; empty: the model's own default",
    )
    raw_prompt: bool = Field(
        default=False,
        title="Raw prompt",
        description="continue the text as it is, without the chat template",
    )

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


def about(name: str) -> str:
    """A setting in one line, with the rule it belongs to and what its choices mean."""
    text = DecodeSettings.model_fields[name].description or ""
    rule = "typical acceptance: " if name in TYPICAL else ""
    choices = "".join(f"; {one}: {meaning}" for one, meaning in CHOICES.get(name, {}).items())
    return f"{rule}{text}{choices}"


def setting_words(*names: str) -> dict[str, dict[str, str]]:
    """Label and explanation of some settings, for a page."""
    fields = DecodeSettings.model_fields
    return {name: {"label": fields[name].title or name, "about": about(name)} for name in names}


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
