"""Tree positions for networks whose position embeddings count slots of the cache.

They take the number of cached slots for the position of a pass's first row, or count it from the
padding id (RoBERTa), and ask for no positions. In a tree siblings share one, so those of the pass's
layout are put in their place.
"""

from __future__ import annotations

import inspect
from typing import Any

from torch import nn

from explorer.kernels.layout import layout_in_force


def follow_layout(network: nn.Module) -> int:
    """Give such embeddings the layout's positions; returns the highest id of a first position."""
    counting = [module for module in network.modules() if _counts_slots(module)]
    for module in counting:
        module.register_forward_pre_hook(_with_positions, with_kwargs=True)
    return max(map(_first, counting), default=0)


def _counts_slots(module: nn.Module) -> bool:
    asked = list(inspect.signature(module.forward).parameters)
    return {"cache_length", "position_ids"} <= set(asked) and asked[0] != "position_ids"


def _first(module: nn.Module) -> int:
    """The id of a text's first position: RoBERTa's follow that of padding."""
    after_padding = hasattr(module, "create_position_ids_from_input_ids")
    return int(module.padding_idx) + 1 if after_padding else 0  # pyright: ignore[reportArgumentType]


def _with_positions(
    module: nn.Module, arguments: tuple[Any, ...], named: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    layout = layout_in_force()
    if layout is None:
        return None
    positions, given = layout.positions + _first(module), named.get("position_ids")
    axes = (
        1 + hasattr(module, "create_position_ids_from_input_ids") if given is None else given.dim()
    )
    if axes == 1 and len(positions) == 1:
        positions = positions[0]
    place = next(module.parameters()).device
    return arguments, {**named, "position_ids": positions.to(place)}
