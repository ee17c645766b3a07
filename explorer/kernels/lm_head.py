"""From hidden states to float32 logits, the same bits for a row whatever the other rows.

The LM head is the widest matrix of a small model, and the time of a pass depends on it. A bf16
GEMM is the fastest way through it, but it rounds the logits to bf16, where values near 20 are
0.125 apart and ties are common. So the GEMM only makes the shortlist: the `SHORTLIST` best tokens
of every row are scored again from the exact rows of the matrix, in float64, and rounded once to
float32. Those tokens hold nearly all of the probability, and every argmax is taken among them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F

from explorer.kernels.matrices import IntegerMatrix
from explorer.weights.gguf_codes import GROUP, Codes

SHORTLIST = 16
BLOCK = 64  # columns per block maximum in `top_columns`


def top_columns(matrix: torch.Tensor, k: int) -> torch.Tensor:
    """Columns of the k largest values of every row of [n, V], largest first: [n, k] int64.

    The k largest lie within the k blocks of largest maxima, so only those are searched: several
    times faster than topk over a whole vocabulary.
    """
    n, width = matrix.shape
    blocks = width // BLOCK
    if blocks <= k:
        return matrix.topk(k, dim=-1).indices
    maxima = matrix[:, : blocks * BLOCK].reshape(n, blocks, BLOCK).amax(dim=-1)
    best = maxima.topk(k, dim=-1).indices  # [n, k]
    columns = (best[..., None] * BLOCK + torch.arange(BLOCK, device=matrix.device)).flatten(1)
    rest = torch.arange(blocks * BLOCK, width, device=matrix.device).expand(n, -1)
    columns = torch.cat([columns, rest], dim=-1)
    return columns.gather(1, matrix.gather(1, columns).topk(k, dim=-1).indices)


class LMHead:
    """hidden [n, H] → logits [n, V] float32.

    `weight` [V, H] in the model's dtype; `exact_rows(ids [m]) → [m, H] float32` gives the rows
    that the shortlist is scored with. `softcap` and `scale` are what Gemma-2, Cohere and Granite
    apply to their logits. Where the GEMM of this machine is not batch-invariant, `most_rows` limits
    how many rows a product may have, and `padded` makes every product one of exactly that many.
    """

    invariant = False  # whether a row's logits are known to be the same with any other rows

    def __init__(
        self,
        weight: torch.Tensor,
        exact_rows: Callable[[torch.Tensor], torch.Tensor],
        bias: torch.Tensor | None = None,
        softcap: float | None = None,
        scale: float = 1.0,
    ) -> None:
        self.weight = weight
        self.exact_rows = exact_rows
        self.bias = bias
        self.softcap = softcap
        self.scale = scale
        self.most_rows: int | None = None
        self.padded = False

    def __call__(self, hidden: torch.Tensor) -> torch.Tensor:
        """Logits [n, V] float32 of hidden [n, H]."""
        logits = self._scores(hidden.to(self.weight.device))
        if self.bias is not None:
            logits += self.bias.float()
        if self.scale != 1.0:
            logits *= self.scale
        if self.softcap is not None:
            logits = torch.tanh(logits / self.softcap) * self.softcap
        return logits

    @property
    def stored(self) -> torch.Tensor:
        """The matrix as a product reads it."""
        return self.weight

    def part(self, ids: torch.Tensor) -> LMHead:
        """The LM head over these tokens [m] alone, in their order."""
        weight = self.weight[ids]
        return LMHead(weight, rows_of_weight(weight), **self._of(ids))

    def _of(self, ids: torch.Tensor) -> dict[str, Any]:
        """Everything but the matrix, for these tokens."""
        bias = None if self.bias is None else self.bias[ids]
        return {"bias": bias, "softcap": self.softcap, "scale": self.scale}

    def _scores(self, hidden: torch.Tensor) -> torch.Tensor:
        logits = self._product(hidden).float()
        if self.weight.dtype != torch.float32:
            self._rescore(logits, hidden)
        return logits

    def _product(self, hidden: torch.Tensor) -> torch.Tensor:
        hidden = hidden.to(self.weight.dtype)
        if self.most_rows is None:
            return F.linear(hidden, self.weight)
        n = hidden.shape[0]
        if self.padded:
            hidden = F.pad(hidden, (0, 0, 0, -n % self.most_rows))
        if hidden.shape[0] <= self.most_rows:
            return F.linear(hidden, self.weight)[:n]
        parts = [F.linear(part, self.weight) for part in hidden.split(self.most_rows)]
        return torch.cat(parts)[:n]

    def _rescore(self, logits: torch.Tensor, hidden: torch.Tensor) -> None:
        shortlist = top_columns(logits, min(SHORTLIST, logits.shape[1]))  # [n, s]
        rows = self.exact_rows(shortlist.flatten()).view(*shortlist.shape, -1)  # [n, s, H]
        # Every product is exact in float64, so the order of the sum cannot show in float32.
        exact = (rows.double() * hidden[:, None].double()).sum(dim=-1)
        logits.scatter_(1, shortlist, exact.float())


class IntegerHead(LMHead):
    """An LM head on the integer kernels, whose rows do not depend on each other by construction.

    `matrix` holds the file's own 8-bit codes; `weight` is what the network has of them.
    """

    invariant = True

    def __init__(self, weight: torch.Tensor, matrix: IntegerMatrix, **rest: Any) -> None:
        super().__init__(weight, rows_of_weight(weight), **rest)
        self.matrix = matrix

    @property
    def stored(self) -> torch.Tensor:
        """The matrix as a product reads it: its tiles."""
        return self.matrix.tiles

    def part(self, ids: torch.Tensor) -> IntegerHead:
        """The LM head over these tokens [m] alone, in their order."""
        matrix = IntegerMatrix(self.matrix.codes(ids))
        return IntegerHead(self.weight[ids], matrix, **self._of(ids))

    def _scores(self, hidden: torch.Tensor) -> torch.Tensor:
        return self.matrix(hidden.float())


def rows_of_weight(weight: torch.Tensor) -> Callable[[torch.Tensor], torch.Tensor]:
    """`exact_rows` for a plain matrix [V, H]."""
    return lambda ids: weight[ids].float()


def rows_of_codes(
    codes: Codes, device: torch.device | str = "cpu"
) -> Callable[[torch.Tensor], torch.Tensor]:
    """`exact_rows` from the 8-bit codes themselves, without the rounding of a bf16 copy."""
    code = torch.from_numpy(codes.codes).to(device)
    scale = torch.from_numpy(codes.scale).to(device)

    def rows(ids: torch.Tensor) -> torch.Tensor:
        grouped = code[ids].view(ids.numel(), -1, GROUP).float()
        return (grouped * scale[ids][..., None]).view(ids.numel(), -1)

    return rows
