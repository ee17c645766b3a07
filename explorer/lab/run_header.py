"""What a trace says of the model, heads, settings and machine that made a run."""

from __future__ import annotations

import importlib.metadata
from typing import Any

from explorer.lab.run_start import RunStart
from explorer.measuring.head_set import HeadSet
from explorer.models.base import LanguageModel
from explorer.records.methods import METHODS
from explorer.records.schema import Settings, Shown
from explorer.records.settings import DecodeSettings
from explorer.records.version import __version__


def run_header(
    model: LanguageModel, chosen: HeadSet | None, begin: RunStart, settings: DecodeSettings
) -> dict[str, Any]:
    """The fields of records.schema.Header that are known before a run; `chosen` are its heads."""
    values = settings.model_dump() | {"acceptance": settings.rule} | dict(begin.settings)
    method = METHODS[settings.method]
    return {
        "explorer_version": __version__,
        "model": model.name,
        "tuned": model.tuned,
        "heads": chosen.name if chosen else None,
        "backend": model.backend,
        "device": str(model.device),
        "versions": _versions(),
        "settings": Settings.model_validate(values),
        "shown": Shown(
            title=method.title,
            drafter=method.drafter,
            by_heads=bool(method.heads),
            along_path=chosen is not None and chosen.heads.sees_path,
        ),
        "prompt": begin.prompt,
        "prompt_ids": begin.ids,
        "continued_tokens": begin.continued_tokens,
        "eos_ids": sorted(model.eos_ids),
    }


def _versions() -> dict[str, str]:
    return {name: importlib.metadata.version(name) for name in ("torch", "transformers", "numba")}
