"""Which keys a row of a pass may see: the network's own rule, within what the tree allows.

transformers builds a mask for every kind of layer (full, sliding window, chunks) from a rule over
two positions, and asks a mask function for it by the name of the attention. The functions that are
registered here answer for a tree pass: a slot's place in memory says nothing there, so the rule is
given the *positions* of rows and slots. Which layers have a window, and how wide it is, is so
always the network's own word, never a guess from its configuration.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

import torch
from transformers import AttentionMaskInterface
from transformers.masking_utils import eager_mask, sdpa_mask


@dataclass(frozen=True)
class Layout:
    """positions [b, n] of the rows and slots [1 or b, s] of the keys; visible [b or 1, n, s] bool.

    A batch of 1 stands for every sequence of the pass. `masks`, where given, collects what is made.
    """

    positions: torch.Tensor
    slots: torch.Tensor
    visible: torch.Tensor
    masks: list[torch.Tensor] | None = None

    @classmethod
    def of_tree(
        cls, prefix: int, offsets: torch.Tensor, visible: torch.Tensor, slots: int
    ) -> Layout:
        """n rows after `prefix` committed slots, of `slots` in all; visible [n, n] among rows."""
        n = len(offsets)
        positions = torch.zeros(slots, dtype=torch.int64)
        positions[:prefix] = torch.arange(prefix)
        positions[prefix : prefix + n] = prefix + offsets
        seen = torch.zeros(n, slots, dtype=torch.bool)
        seen[:, :prefix] = True
        seen[:, prefix : prefix + n] = visible
        return cls((prefix + offsets)[None], positions[None], seen[None])

    def mask(self, rule: Callable[..., torch.Tensor], device: torch.device) -> torch.Tensor:
        """The mask [b, 1, n, s] bool for layers of one kind: `rule(batch, head, row, key)`."""
        rows = self.positions[:, None, :, None].to(device)
        keys = self.slots[:, None, None, :].to(device)
        batch = torch.arange(max(len(rows), len(keys)), device=device)[:, None, None, None]
        mask = rule(batch, 0, rows, keys) & self.visible[:, None].to(device)
        if self.masks is not None:
            self.masks.append(mask)
        return mask

    @contextmanager
    def in_force(self) -> Iterator[None]:
        """Within it every mask that a network builds is that of this layout."""
        token = _current.set(self)
        try:
            yield
        finally:
            _current.reset(token)


_current: ContextVar[Layout | None] = ContextVar("layout", default=None)


def layout_in_force() -> Layout | None:
    """The layout of the pass under way, if it is one of ours."""
    return _current.get()


def register_mask(attention: str, library: Callable[..., torch.Tensor] | None = None) -> None:
    """Let the attention `attention` follow the layout in force; else `library` makes its masks."""
    additive = attention == "eager"

    def mask(
        *,
        mask_function: Callable[..., torch.Tensor],
        device: torch.device,
        dtype: torch.dtype = torch.float32,
        **rest: object,
    ) -> torch.Tensor | None:
        layout = _current.get()
        if layout is None:
            if library is None:
                raise RuntimeError(f"the attention {attention} runs in tree passes only")
            return library(mask_function=mask_function, device=device, dtype=dtype, **rest)
        seen = layout.mask(mask_function, device)
        if not additive:
            return seen
        return seen.new_zeros(seen.shape, dtype=dtype).masked_fill(~seen, torch.finfo(dtype).min)

    AttentionMaskInterface.register(attention, mask)


register_mask("sdpa", sdpa_mask)
register_mask("eager", eager_mask)
