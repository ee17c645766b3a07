"""Settings of a run, checked at the edge (pydantic), with errors a person can act on."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from explorer.records.errors import ExplorerError

Backend = Literal["auto", "int4", "nf4", "bf16", "fp32"]
Device = Literal["auto", "cpu", "cuda"]
Acceptance = Literal["auto", "greedy", "sample", "typical"]
Candidates = Literal["top", "drawn"]

MAX_NEW_TOKENS = 4096
MAX_PROMPT_CHARACTERS = 100_000
MAX_TREE_CHARACTERS = 20_000
LEAST_TEMPERATURE = 1e-3  # below it float32 logits overflow, and the argmax is all that is left


class DecodeSettings(BaseModel):
    """How to decode one prompt.

    `acceptance` auto means greedy at temperature 0 and sample (lossless) above it. `epsilon` and
    `delta` belong to typical acceptance (Medusa, section 2.3.1). `top_k` 0 means no limit. The
    fields with a description are parameters of single methods (decoding/registry.py): command
    line, page and documents take range, default and description from here.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    method: str = "medusa"
    tree: Annotated[
        str, StringConstraints(strip_whitespace=True, max_length=MAX_TREE_CHARACTERS)
    ] = "auto"
    acceptance: Acceptance = "auto"
    temperature: float = Field(0.0, ge=0.0, le=100.0, allow_inf_nan=False)
    top_p: float = Field(1.0, gt=0.0, le=1.0)
    top_k: int = Field(0, ge=0, lt=2**63)
    epsilon: float = Field(0.09, gt=0.0, le=1.0)
    delta: float = Field(0.3, gt=0.0, le=1.0)
    seed: int = Field(0, ge=0, lt=2**63)
    max_new_tokens: int = Field(128, ge=1, le=MAX_NEW_TOKENS)
    system_prompt: str | None = Field(None, max_length=MAX_PROMPT_CHARACTERS)
    raw_prompt: bool = False

    candidates: Candidates = Field(
        "top",
        description="a head's best guesses, or guesses drawn from its distribution, which are "
        "judged by rejection sampling (needs a temperature above 0; the tree auto is then the "
        "fixed one)",
    )
    draft_tokens: int = Field(
        3, ge=1, le=32, description="K: tokens that the draft model writes ahead in a step"
    )
    draft_layers: int = Field(
        0,
        ge=0,
        le=512,
        description="draft with so many first layers of the base model; 0: with the trained "
        "draft model if there is one, else with a fifth of the layers",
    )
    lookahead_window: int = Field(
        4, ge=1, le=32, description="W: positions ahead that are guessed in parallel"
    )
    lookahead_ngram: int = Field(
        3, ge=3, le=8, description="N: tokens of an n-gram; N − 1 steps of guesses are kept"
    )
    lookahead_guesses: int = Field(
        3, ge=1, le=32, description="G: n-grams from the pool that are verified in a step"
    )
    lookup_tokens: int = Field(
        4, ge=1, le=64, description="tokens that are copied from behind the match"
    )
    lookup_ngram: int = Field(
        3, ge=1, le=16, description="longest run of last tokens to look for in the text so far"
    )

    @property
    def rule(self) -> Literal["greedy", "sample", "typical"]:
        """The acceptance rule after `auto` is resolved."""
        if self.acceptance != "auto":
            return self.acceptance
        return "greedy" if self.temperature == 0 else "sample"


def decode_settings(**values: object) -> DecodeSettings:
    """Checked settings. Raises ExplorerError naming the first setting that does not fit."""
    try:
        settings = DecodeSettings(**values)
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(map(str, first["loc"])) or "setting"
        raise ExplorerError(f"{name}: {first['msg']}; you gave {first['input']!r:.60}.") from error
    if 0 < settings.temperature < LEAST_TEMPERATURE:
        raise ExplorerError(
            f"A temperature of {settings.temperature:g} is too low to sample with: use 0 for "
            f"greedy decoding, or at least {LEAST_TEMPERATURE:g}."
        )
    if settings.acceptance == "greedy" and settings.temperature > 0:
        raise ExplorerError(
            "Greedy acceptance needs temperature 0: set the temperature to 0 or choose 'sample'."
        )
    if settings.acceptance in ("sample", "typical") and settings.temperature == 0:
        raise ExplorerError(
            f"'{settings.acceptance}' acceptance needs a temperature above 0: raise it, or choose "
            "'greedy'."
        )
    if settings.candidates == "drawn" and settings.rule != "sample":
        raise ExplorerError(
            "Drawn candidates need the acceptance rule 'sample': set a temperature above 0 and "
            "leave the rule at auto, or choose top candidates."
        )
    return settings
