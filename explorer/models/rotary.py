"""Fixes rotary factors that would change with the length of a pass, so that passes agree.

Two kinds of scaling pick their factors by the largest position of a pass: LongRoPE (short factors
up to a limit, long ones after it) and dynamic NTK (larger with every position past the training
length). A row's keys would then depend on the other rows, and keys cached below the limit would
be wrong above it. So the factors stay those below the limit, and a text ends at the limit.
"""

from __future__ import annotations

from torch import nn

SWITCHING = ("longrope", "dynamic")
SETTLED = "settled"


def settle_rotary(network: nn.Module) -> int | None:
    """Fix the rotary factors of `network`; returns the position at which texts end, if any."""
    borders = []
    for module in network.modules():
        kinds = getattr(module, "rope_type", None)
        if isinstance(kinds, dict):
            for layer_type, kind in kinds.items():
                if _switches(kind):
                    borders.append(_border(module, kind, module.config.rope_parameters[layer_type]))
            module.rope_type = {t: SETTLED if _switches(k) else k for t, k in kinds.items()}
        elif _switches(kinds):
            borders.append(_border(module, kinds, module.config.rope_parameters))
            module.rope_type = SETTLED
    return min(borders, default=None)


def _switches(kind: object) -> bool:
    return isinstance(kind, str) and any(name in kind for name in SWITCHING)


def _border(module: nn.Module, kind: str, parameters: dict) -> int:
    if kind == "longrope":
        if "short_mscale" in parameters:  # Phi-MoE scales by the length of the pass, too
            parameters["long_mscale"] = parameters["short_mscale"]
        return int(parameters["original_max_position_embeddings"])
    return int(module.original_max_seq_len)
