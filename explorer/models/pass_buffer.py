"""The numbers that differ between passes of a fixed shape, at a fixed address."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from explorer.kernels.layout import Layout


@dataclass(frozen=True)
class PassBuffer:
    """What a pass of `rows` rows reads, in one int32 tensor on the device, filled in one copy.

    numbers: the prefix length, tokens [rows], offsets [rows], and who sees whom [rows, rows].
    """

    rows: int
    numbers: Tensor

    @classmethod
    def empty(cls, rows: int, device: torch.device) -> PassBuffer:
        """A buffer for passes of this many rows."""
        size = 1 + 2 * rows + rows * rows
        return cls(rows, torch.zeros(size, dtype=torch.int32, device=device))

    def write(self, length: int, tokens: Tensor, offsets: Tensor, mask: Tensor) -> None:
        """tokens, offsets [n], mask [n, n] as in LanguageModel.forward; the rest is filled up."""
        n, rows = len(tokens), self.rows
        # Pinned, and new each time: an earlier copy may still be on its way.
        pinned = self.numbers.is_cuda
        host = torch.zeros(len(self.numbers), dtype=torch.int32, pin_memory=pinned)
        host[0] = length
        host[1 : 1 + n] = tokens
        host[1 + rows : 1 + rows + n] = offsets
        sees = host[1 + 2 * rows :].view(rows, rows)
        sees.fill_diagonal_(1)  # a row that sees nothing has no softmax
        sees[:n, :n] = mask
        self.numbers.copy_(host, non_blocking=True)

    @property
    def length(self) -> Tensor:
        """[1]: tokens in the cache before the pass."""
        return self.numbers[:1].long()

    @property
    def tokens(self) -> Tensor:
        """int64 [rows]."""
        return self.numbers[1 : 1 + self.rows].long()

    @property
    def offsets(self) -> Tensor:
        """int64 [rows]."""
        return self.numbers[1 + self.rows : 1 + 2 * self.rows].long()

    @property
    def sees(self) -> Tensor:
        """bool [rows, rows]."""
        return self.numbers[1 + 2 * self.rows :].view(self.rows, self.rows).bool()

    def slots(self) -> Tensor:
        """int64 [rows]: where the rows' keys and values go."""
        return self.length + torch.arange(self.rows, device=self.numbers.device)

    def layout(self, seen: int) -> Layout:
        """The layout over the first `seen` slots, as Layout.of_tree has it, made on the device."""
        slot = torch.arange(seen, device=self.numbers.device)
        behind = slot - self.length  # a row's number, for the slots that the pass writes
        inside = (behind >= 0) & (behind < self.rows)
        row = behind.clamp(0, self.rows - 1)
        positions = torch.where(inside, self.length + self.offsets[row], slot)
        visible = (behind < 0)[None] | (self.sees[:, row] & inside)
        return Layout((self.length + self.offsets)[None], positions[None], visible[None])
