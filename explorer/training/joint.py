"""Medusa-2: train the base model, through a LoRA adapter, together with the heads.

Medusa paper, section 2.2.2:   L = L_LM + λ0 · Σ over heads k of 0.8^k · cross-entropy(head k)

Where nobody has the model's training data, L_LM is the KL divergence from the untouched model on
text that it wrote itself (section 2.3.2), which keeps the tuned model near it. The heads are warmed
up twice: they are trained alone first (two-stage), and λ0 rises from zero over the first updates.
Heads and adapter have their own learning rates.

With the 4-bit rounding in the loop, every pass computes with W + B·A rounded to 4 bits, and the
gradient takes the rounding for the identity. The merged model quantised again is then the very
model that was trained, so serving it costs nothing over the untouched one.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, Literal

import torch
from pydantic import BaseModel as Schema
from pydantic import Field

from explorer.heads.checkpoints import load_heads
from explorer.heads.heads import MedusaHeads
from explorer.heads.heads_config import Architecture, HeadKind
from explorer.models.adapters import lossless_sentence
from explorer.models.base import LanguageModel
from explorer.records.errors import ExplorerError
from explorer.records.progress import TrainingProgress
from explorer.training.data import Conversation
from explorer.training.fitting import FitOptions, fit
from explorer.training.heads_step import require_same_split
from explorer.training.held_out_ranks import save_held_out_ranks
from explorer.training.hidden_cache import hidden_cache
from explorer.training.joint_report import perplexities
from explorer.training.joint_task import JointTask
from explorer.training.lora import add_lora, on_four_bit_grid, require_peft
from explorer.training.medusa1 import split_data, train_heads
from explorer.training.options import TrainOptions
from explorer.training.targets import build_targets

STAGE_ONE = "heads-alone"  # subfolder of the heads of the first stage
FINISHED = "finished"  # file in it: which settings the stage was finished with


class JointOptions(FitOptions):
    """Settings of Medusa-2 training."""

    start_from: Path | None = Field(
        default=None, description="heads that were trained alone, instead of the first stage"
    )
    architecture: Architecture = "medusa"
    kind: HeadKind = "draft_vocab"
    num_heads: int = Field(default=4, ge=1, le=16)
    num_blocks: int = Field(default=1, ge=0, le=8)
    draft_vocab_size: int = Field(default=8192, ge=2)
    alone_epochs: int = Field(default=2, ge=1, description="epochs of the heads alone, stage one")
    epochs: int = Field(default=1, ge=1, description="epochs of heads and base together")
    lr: float = Field(default=1e-4, gt=0, description="of the adapter")
    heads_lr: float = Field(default=5e-4, gt=0)
    head_weight: float = Field(default=0.2, ge=0, description="λ0, the weight of the heads' loss")
    ramp: float = Field(default=0.3, ge=0, le=1, description="share of updates while λ0 rises")
    head_decay: float = Field(default=0.8, gt=0, le=1, description="loss of head k counts decay^k")
    soft_share: float = Field(
        default=0.5,
        ge=0,
        le=1,
        description="share of the heads' loss on the base's own distribution",
    )
    language_loss: Literal["base", "text"] = Field(
        default="base", description="base: KL to the untouched model; text: cross-entropy"
    )
    rank: int = Field(default=16, ge=1, le=256, description="of the adapter")
    alpha: int = Field(default=32, ge=1, description="scale of the adapter: alpha / rank")
    rounding: Literal["auto", "int4", "none"] = Field(
        default="auto", description="round to 4 bits in training; auto: if the weights are 4-bit"
    )


class JointResult(Schema):
    """The result of training: paths, and the change of the model.

    perplexity: of the held-out replies, under the untouched model and every way to serve the tuned
    one. agreement: share of held-out positions where both have the same first choice.
    """

    out: Path
    lossless: str
    accuracy: dict[str, list[float]]
    perplexity: dict[str, float]
    agreement: float
    train_tokens: int
    holdout_tokens: int
    seconds: float
    history: list[dict[str, Any]]


def train_joint(
    model: LanguageModel, options: JointOptions, progress: TrainingProgress = lambda _: None
) -> JointResult:
    """Tune `model` and its heads together; its weights in memory change, its files never do.

    Heads lie in `options.out` afterwards, with a rank table measured on the tuned model, and their
    adapter in its subfolder. After every epoch both
    are there; a run that was killed resumes from its last checkpoint. Raises ExplorerError: data or
    heads that do not fit, a backend without gradients, peft missing, a loss that is no number, a
    full disk.
    """
    began = time.perf_counter()
    if model.backend == "int4":
        raise ExplorerError(
            "The int4 backend runs packed weights, which cannot be tuned: train with --backend "
            "bf16 (a GGUF is dequantised) or nf4; the result runs on int4."
        )
    require_peft()
    conversations, train, held = split_data(options, model.vocab_size)
    heads = _heads_alone(model, options, conversations, progress)
    cache = hidden_cache(model, conversations, options.cache_folder, progress)
    rounding = options.rounding == "int4" or (
        options.rounding == "auto" and on_four_bit_grid(model.network)
    )
    key = options.key(model, conversations)
    lora = add_lora(model, options.rank, options.alpha, rounding, options.seed)
    targets = build_targets(model, heads, cache, options.soft_share)
    task = JointTask(model, lora, heads, options, conversations, train, held, cache, targets)
    lengths = [len(conversations[i].prompt) + len(conversations[i].response) for i in train]
    history = fit(task, options, lengths, key, progress)
    progress({"phase": "perplexity"})
    found = perplexities(task)
    task.store(history, found)
    held_texts = [conversations[i] for i in held]
    save_held_out_ranks(model, options.out, task.held_cache(), range(len(held)), held_texts)
    return JointResult(
        out=options.out,
        lossless=lossless_sentence(model.name),
        accuracy=history[-1]["accuracy"],
        perplexity=found,
        agreement=history[-1]["agreement"],
        train_tokens=len(cache.rows_of(train)),
        holdout_tokens=len(cache.rows_of(held)),
        seconds=round(time.perf_counter() - began, 1),
        history=history,
    )


def _heads_alone(
    model: LanguageModel,
    options: JointOptions,
    conversations: list[Conversation],
    progress: TrainingProgress,
) -> MedusaHeads:
    """Stage one: heads trained on the untouched model, given or made now, in float32."""
    folder = options.start_from or options.out / STAGE_ONE
    wanted = TrainOptions(
        **{
            name: getattr(options, name)
            for name in set(TrainOptions.model_fields) & set(JointOptions.model_fields)
            if name not in ("epochs", "lr", "batch_size", "save_every", "start_from", "out")
        },
        out=folder,
        epochs=options.alone_epochs,
    )
    if options.start_from is None:
        key, finished = wanted.key(model, conversations), folder / FINISHED
        if not (finished.exists() and finished.read_text() == key):
            train_heads(model, wanted, progress)
            finished.write_text(key)
    heads = load_heads(folder, model, dtype=torch.float32)
    require_same_split(heads, options, folder)
    return heads.requires_grad_(True)
