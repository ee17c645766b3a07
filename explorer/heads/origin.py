"""What the config.json of heads says that their tensors do not."""

from __future__ import annotations

from typing import Any

from explorer.heads.heads_config import HeadsConfig


def differences(config: HeadsConfig, raw: dict[str, Any], kind: str) -> list[str]:
    """Where the config.json `raw` of heads in the format `kind` contradicts their tensors."""
    # A whole model's config.json counts the model's own layers and attention heads beside.
    own = kind in ("explorer", "vllm")
    facts = {
        "medusa_num_heads": config.num_heads,
        "medusa_num_layers": config.num_blocks,
        "hydra_num_heads": config.num_heads,
        "hydra_num_layers": config.num_blocks,
        "num_heads": config.num_heads if own else None,
        "num_hidden_layers": config.num_blocks if own else None,
        "hidden_size": config.hidden_size,
        "vocab_size": config.vocab_size,
    }
    return [
        f"config.json says {name} = {raw[name]!s:.20}, but by the tensors it is {found}, which is "
        "used."
        for name, found in facts.items()
        if found is not None and type(raw.get(name)) in (int, str) and raw[name] != found
    ]
