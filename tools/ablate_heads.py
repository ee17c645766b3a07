"""What each choice in the default heads is worth: small runs that differ in one setting each.

    python tools/ablate_heads.py --data assets/training/conversations.jsonl.gz --out ablation

All configurations train on the same cached hidden states, for the same number of updates, with the
same split and seed. Every finished one adds a line to OUT/ablation.jsonl, and the line is printed:
held-out top-1, top-3 and top-10 by head, and the size of the checkpoint. A run that was stopped
resumes where it was; a configuration whose line is there is not trained again.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import explorer  # noqa: E402
from explorer.models.base import LanguageModel  # noqa: E402
from explorer.records.errors import ExplorerError  # noqa: E402
from explorer.records.progress import TrainingProgress  # noqa: E402
from explorer.training.medusa1 import train_heads  # noqa: E402
from explorer.training.options import TrainOptions  # noqa: E402
from explorer.weights.folders import WEIGHTS  # noqa: E402

LINES = "ablation.jsonl"
EPOCHS = 1000  # more than any run takes: --updates ends it
# What each changes in the settings of the default heads, which are those of TrainOptions.
CONFIGURATIONS: dict[str, dict[str, Any]] = {
    "default": {},
    "blocks-2": {"num_blocks": 2},
    "projection-own": {"kind": "own"},
    "projection-shared": {"kind": "shared"},
    "vocabulary-4096": {"draft_vocab_size": 4096},
    "vocabulary-16384": {"draft_vocab_size": 16384},
    "heads-3": {"num_heads": 3},
    "heads-5": {"num_heads": 5},
    "hard-targets": {"soft_share": 0.0},
}


def ablate(
    model: LanguageModel,
    options: TrainOptions,
    names: Sequence[str],
    configurations: Mapping[str, dict[str, Any]] = CONFIGURATIONS,
    progress: TrainingProgress = lambda _: None,
) -> Iterator[dict[str, Any]]:
    """Train the named configurations, each in its own folder of `options.out`; yields their lines.

    Lines that are in the file already are not made again. Raises ExplorerError for a line of other
    settings or other data, and as `train_heads` does.
    """
    path = options.out / LINES
    done = {line["name"]: line for line in _read(path)}
    for name in names:
        changes = configurations[name]
        chosen = options.model_copy(update={**changes, "out": options.out / name})
        settings = chosen.model_dump(mode="json", exclude={"out", "cache_folder", "save_every"})
        if name in done:
            if done[name]["settings"] != settings:
                raise ExplorerError(
                    f"{path} holds '{name}' of a run with other settings: choose another --out."
                )
            continue
        result = train_heads(model, chosen, progress)
        line = {
            "name": name,
            "changes": changes,
            **result.accuracy,
            "bytes": (chosen.out / WEIGHTS).stat().st_size,
            "coverage": round(result.coverage, 4),
            "updates": options.updates,
            "train_tokens": result.train_tokens,
            "holdout_tokens": result.holdout_tokens,
            "seconds": result.seconds,
            "settings": settings,
        }
        with open(path, "a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        yield line


def _read(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def main(arguments: list[str]) -> int:
    """Train what was asked for. Returns the exit status."""
    parser = argparse.ArgumentParser(description="Train small heads that differ in one setting.")
    parser.add_argument("--data", required=True, type=Path, help="self-distilled conversations")
    parser.add_argument("--out", required=True, type=Path, help="a folder for all of them")
    parser.add_argument("--updates", type=int, default=600, help="of each (default 600)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cache-folder", type=Path, default=Path("cache"))
    parser.add_argument("--preset", default="default")
    parser.add_argument("--backend", default="bf16")
    parser.add_argument("--only", nargs="+", choices=CONFIGURATIONS, help="these alone")
    args = parser.parse_args(arguments)
    try:
        model = explorer.load(preset=args.preset, heads="none", backend=args.backend).model
        options = TrainOptions(
            data=args.data,
            out=args.out,
            epochs=EPOCHS,
            updates=args.updates,
            seed=args.seed,
            cache_folder=args.cache_folder,
        )
        for line in ablate(model, options, args.only or list(CONFIGURATIONS)):
            print(json.dumps(line), flush=True)
    except ExplorerError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
