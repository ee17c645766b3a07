"""Reads a checkpoint with transformers, and refuses it unless file and network fit each other.

transformers makes up a weight that the file lacks, and drops one that the network has no place
for, with a line in a log. Either way the model would be silently wrong.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path
from typing import Any

from transformers import AutoModelForCausalLM, PreTrainedModel

from explorer.records.errors import ExplorerError

# Parts of a checkpoint that the next token of a text does not depend on: other modalities, heads
# for other tasks, drafts.
APART = re.compile(
    r"(?:^|\.)(vision\w*|visual\w*|vit|image\w*|audio\w*|speech\w*|multi_modal_projector"
    r"|mm_projector|mtp\w*|nextn\w*|medusa\w*|score|classifier|reward\w*|value_head|v_head|pooler)"
    r"\."
)
CONSTANTS = re.compile(
    r"\.(inv_freq|masked_bias|causal_mask|position_ids)$"
)  # saved in old versions
CODES = re.compile(
    r"\.(qweight|qzeros|g_idx|weight_packed|weight_scale\w*|input_scale|\w+_blocks|absmax)$"
)


def read_whole(source: str | Path, **arguments: Any) -> tuple[PreTrainedModel, list[str]]:
    """The network that `from_pretrained` reads from `source`, and notes on what it left out.

    Raises ExplorerError that names a weight which only one of the two has.
    """
    network, found = AutoModelForCausalLM.from_pretrained(
        source, trust_remote_code=False, output_loading_info=True, **arguments
    )
    if any(CODES.search(name) for name in found["unexpected_keys"]):
        raise ExplorerError(
            f"'{source}' is quantised in a form that its configuration does not name: choose the "
            "checkpoint that it was made from, or a GGUF of it."
        )
    refuse_made_up(found["missing_keys"], source)
    left = sorted(name for name in found["unexpected_keys"] if not CONSTANTS.search(name))
    odd = [name for name in left if not APART.search(name)]
    if odd:
        raise ExplorerError(
            f"'{source}' holds the weight {_listed(odd)}, which the network of its architecture "
            f"({network.config.model_type}) has no place for: it belongs to a variant that is not "
            "supported; choose another checkpoint."
        )
    parts = sorted({match.group(1) for name in left if (match := APART.search(name))})
    return network, [f"Not used for text: {', '.join(parts)}."] if parts else []


def refuse_made_up(missing: Collection[str], source: str | Path) -> None:
    """Raise ExplorerError for weights that the checkpoint lacks."""
    if missing:
        raise ExplorerError(
            f"'{source}' lacks the weight {_listed(sorted(missing))}, without which every answer "
            "would be wrong: download it again, or choose another checkpoint."
        )


def _listed(names: list[str]) -> str:
    return f"'{names[0]}'" + (f" and {len(names) - 1} more" if len(names) > 1 else "")
