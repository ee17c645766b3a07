"""The settings and the result of a training run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import BaseModel as Schema
from pydantic import Field

from explorer.heads.head_storage import Storage
from explorer.heads.heads_config import Architecture, HeadKind
from explorer.training.fitting import FitOptions


class TrainOptions(FitOptions):
    """Settings of Medusa-1 training."""

    start_from: Path | None = Field(
        default=None,
        description="heads to train further; their kind and sizes are kept, but num_blocks may be "
        "more: added blocks change nothing at first",
    )
    new_vocabulary: bool = Field(
        default=False,
        description="with start_from: choose a new draft vocabulary from this text",
    )
    architecture: Architecture = Field(
        default="medusa", description="medusa, or hydra: heads that see the tokens on their path"
    )
    projection_from: Path | None = Field(
        default=None,
        description="heads beside `out` whose projection to use, instead of a new one",
    )
    kind: HeadKind = "draft_vocab"
    num_heads: int = Field(default=4, ge=1, le=16)
    num_blocks: int = Field(default=1, ge=0, le=8)
    draft_vocab_size: int = Field(default=8192, ge=2)
    coverage: float = Field(
        default=0.0,
        ge=0,
        lt=1,
        description="share of the reply tokens that the draft vocabulary must cover; its size "
        "follows from it, up to draft_vocab_size; 0: exactly draft_vocab_size",
    )
    epochs: int = Field(default=3, ge=1)
    batch_size: int = Field(default=512, ge=1, description="positions in an update")
    lr: float = Field(default=1e-3, gt=0)
    head_decay: float = Field(default=0.8, gt=0, le=1, description="loss of head k counts decay^k")
    soft_share: float = Field(
        default=0.5,
        ge=0,
        le=1,
        description="share of the loss on the base's distribution (soft targets)",
    )
    dropout: float = Field(default=0.0, ge=0, lt=1)
    save_every: int = Field(default=500, ge=1, description="updates between two checkpoints")
    storage_dtype: Storage = Field(
        default="bfloat16", description="storage of the heads; q8_0: 8 bits, half as large"
    )


class TrainResult(Schema):
    """The result of training: its path, and its accuracy on held-out text.

    `accuracy["top1"][k - 1]` is the share of held-out targets that head k ranks first.
    """

    out: Path
    accuracy: dict[str, list[float]]
    coverage: float
    train_tokens: int
    holdout_tokens: int
    seconds: float
    history: list[dict[str, Any]]
