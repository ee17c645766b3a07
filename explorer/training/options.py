"""What a training run is told and what it gives back."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, Field

from explorer.models.heads import HeadKind


class TrainOptions(BaseModel):
    """Settings of Medusa-1 training."""

    data: Path
    out: Path
    start_from: Path | None = Field(
        default=None, description="heads to train further; their kind and sizes are kept"
    )
    kind: HeadKind = "draft_vocab"
    num_heads: int = Field(default=4, ge=1, le=16)
    num_blocks: int = Field(default=1, ge=0, le=8)
    draft_vocab_size: int = Field(default=8192, ge=2)
    epochs: int = Field(default=3, ge=1)
    batch_size: int = Field(default=512, ge=1)
    lr: float = Field(default=1e-3, gt=0)
    weight_decay: float = Field(default=0.01, ge=0)
    warmup: float = Field(default=0.1, ge=0, lt=1, description="share of all updates")
    max_grad_norm: float = Field(default=1.0, gt=0)
    head_decay: float = Field(default=0.8, gt=0, le=1, description="loss of head k counts decay^k")
    soft_share: float = Field(
        default=0.5, ge=0, le=1, description="share of the loss against the base's distribution"
    )
    dropout: float = Field(default=0.0, ge=0, lt=1)
    holdout: float = Field(default=0.05, gt=0, lt=1)
    least_distinct: float = Field(default=0.5, ge=0, le=1)
    max_tokens: int = Field(default=1024, ge=2, description="longest conversation kept whole")
    seed: int = 0
    cache_folder: Path = Path("cache")
    storage_dtype: Literal["bfloat16", "float16", "float32"] = "bfloat16"


class TrainResult(BaseModel):
    """What was trained, where it lies and how well it predicts held-out text.

    `accuracy["top1"][k - 1]` is the share of held-out targets that head k ranks first.
    """

    out: Path
    accuracy: dict[str, list[float]]
    coverage: float
    train_tokens: int
    holdout_tokens: int
    seconds: float
    history: list[dict[str, Any]]
