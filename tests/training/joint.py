"""Settings and a small run of Medusa-2 that several tests look at."""

from __future__ import annotations

from pathlib import Path

from explorer.training.joint import JointOptions
from tests.training.tiny import counting_text, write_lines


def options(folder: Path, **changes) -> JointOptions:
    data = folder / "text.jsonl"
    if not data.exists():
        write_lines(data, counting_text(20))
    fields = {
        "data": data,
        "out": folder / "tuned",
        "epochs": 2,
        "alone_epochs": 1,
        "batch_size": 4,
        "lr": 3e-3,
        "heads_lr": 1e-2,
        "rank": 4,
        "alpha": 8,
        "num_heads": 2,
        "draft_vocab_size": 50,
        "holdout": 0.1,
        "cache_folder": folder / "cache",
        "save_every": 2,
    }
    return JointOptions(**{**fields, **changes})
