"""What heads are, as the `config.json` of a checkpoint says it."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel as Schema
from pydantic import ConfigDict, Field, model_validator

HeadKind = Literal["own", "shared", "draft_vocab"]
Architecture = Literal["medusa", "hydra"]


class HeadsConfig(Schema):
    """What `config.json` of a head checkpoint says."""

    model_config = ConfigDict(extra="ignore")

    architecture: Architecture = "medusa"
    kind: HeadKind
    num_heads: int = Field(ge=1, le=64)
    num_blocks: int = Field(ge=0, le=16)
    hidden_size: int = Field(ge=1, le=1 << 20)
    vocab_size: int = Field(ge=1, le=1 << 24)
    draft_vocab_size: int | None = Field(default=None, ge=1)
    mixing: bool = Field(default=False, description="MixingHydraHeads: as Hydra's authors do")
    base_model: str = ""
    projection_from: str = Field(
        default="",
        pattern=r"^([A-Za-z0-9][A-Za-z0-9._-]*)?$",
        description="folder beside this one whose heads' projection and token map are used",
    )
    training: dict[str, Any] = Field(default_factory=dict)
    accuracy: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _draft_vocabulary_fits(self) -> HeadsConfig:
        if (self.kind == "draft_vocab") != (self.draft_vocab_size is not None):
            raise ValueError("draft_vocab_size belongs to the kind draft_vocab, and only to it")
        if self.draft_vocab_size is not None and self.draft_vocab_size > self.vocab_size:
            raise ValueError("draft_vocab_size is larger than vocab_size")
        if self.mixing and (self.architecture, self.kind) != ("hydra", "own"):
            raise ValueError("mixing belongs to hydra heads of the kind own")
        return self

    @property
    def output_size(self) -> int:
        """Number of tokens a head chooses between."""
        return self.draft_vocab_size or self.vocab_size
