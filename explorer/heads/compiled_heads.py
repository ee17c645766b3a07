"""Heads on the integer kernels: a draft in one compiled call.

All matrices run in 4 bits, whatever the checkpoint stores: half the bytes of blocks in 8 bits, for
as many tokens per step (docs/engine.md). A guess that changes with the rounding costs a little
acceptance, never correctness.
"""

from __future__ import annotations

import ctypes
import threading

import numpy as np
import torch
from torch import Tensor

from explorer.kernels.dot import GROUP, RECORD
from explorer.kernels.isa import instruction_set
from explorer.kernels.linears import codes_of_blocks, four_bit_blocks
from explorer.kernels.matrices import IntegerMatrix
from explorer.kernels.products import PRODUCTS
from explorer.kernels.residual_heads import Heads, run_heads
from explorer.kernels.team import new_team, reset
from explorer.kernels.threads import on_all_threads, team_size

NO_PATH = torch.empty(0, 0, dtype=torch.int64)


def fits(hidden_size: int, num_blocks: int) -> bool:
    """Whether heads of this size, with one shared projection, run here."""
    isa = instruction_set()
    return (
        isa is not None and num_blocks > 0 and hidden_size % GROUP == hidden_size % isa.lanes == 0
    )


def _four_bits(weight: Tensor) -> IntegerMatrix:
    return IntegerMatrix(codes_of_blocks(four_bit_blocks(weight)))


class CompiledHeads:
    """All heads of a set. `terms[k]`: the matrices [H, H] that head k multiplies its sources by.

    blocks [K, B − 1, H, H] are the further residual blocks, biases [K, B, H], projection [V', H];
    token_map int64 [V'] gives the token of each of its rows.
    """

    def __init__(
        self,
        terms: list[list[Tensor]],
        blocks: Tensor,
        biases: Tensor,
        projection: Tensor,
        token_map: Tensor,
    ) -> None:
        self._hidden, self._num_blocks = biases.shape[2], biases.shape[1]
        self._terms, self._blocks = (
            [[_four_bits(weight) for weight in of_head] for of_head in part]
            for part in (terms, blocks)
        )
        self._biases = biases.float().contiguous()
        self._token_map = token_map.contiguous()
        self._projection = _four_bits(projection)
        num_tiles, lanes = self._projection.tiles.shape[0], instruction_set().lanes
        self._lock = threading.RLock()  # `logits` holds it around `best`
        self._addresses: dict[tuple[range, int], tuple[np.ndarray, np.ndarray]] = {}
        self._team = new_team(2 * self._num_blocks + 3)
        self._room: tuple[int, ...] = (0, 0)
        self._call = Heads(
            hidden=self._hidden,
            lanes=lanes,
            num_blocks=self._num_blocks,
            projection=self._projection.address,
            num_tiles=num_tiles,
            width=projection.shape[0],
            token_map=self._token_map.data_ptr(),
            team=self._team.ctypes.data,
            **PRODUCTS,
        )

    @property
    def matrices(self) -> list[IntegerMatrix]:
        """All that one draft of all heads reads."""
        blocks = [m for part in (self._terms, self._blocks) for of_head in part for m in of_head]
        return [*blocks, self._projection]

    @property
    def num_bytes(self) -> int:
        """Bytes that one draft of all heads reads."""
        return sum(matrix.num_bytes for matrix in self.matrices)

    def best(
        self,
        heads: range,
        hidden: Tensor,
        top: int,
        path: Tensor | None = None,
        embeddings: Tensor | None = None,
        scale: float = 1.0,
    ) -> tuple[Tensor, Tensor]:
        """Tokens int64 and their probabilities float32, [m, len(heads), top] each, best first.

        hidden [m, H], or [1, H] for all m; path int64 [m, d]: tokens whose rows of the embeddings
        [V, H] bf16, times `scale`, the heads' further terms read.
        """
        hidden, path = hidden.float().contiguous(), NO_PATH if path is None else path.contiguous()
        count, (m, depth) = len(heads), (len(hidden), 0) if path is NO_PATH else path.shape
        ids = torch.empty(m, count, top, dtype=torch.int64)
        probs = torch.empty(m, count, top)
        with self._lock:
            self._make_room((1 + depth) * m, count * m)
            call = self._call
            call.heads, call.rows, call.terms, call.top = count, m, 1 + depth, top
            call.matrices, call.blocks = self._tables(heads, 1 + depth)
            call.biases = self._biases[heads.start].data_ptr()
            call.state_bytes = 4 * self._hidden if len(hidden) == m else 0
            call.states, call.path = hidden.data_ptr(), path.data_ptr()
            call.embedding = 0 if embeddings is None else embeddings.data_ptr()
            call.ids, call.probs, call.scale = ids.data_ptr(), probs.data_ptr(), scale
            reset(self._team)
            on_all_threads(run_heads.address, ctypes.addressof(call))
        return ids, probs

    def logits(self, hidden: Tensor) -> Tensor:
        """What `best` chooses from without a path: [m, H] -> float32 [all heads, m, V']."""
        count, m = len(self._terms), len(hidden)
        with self._lock:  # nobody else writes the logits between the call and the copy
            self.best(range(count), hidden, 1)
            rows = self._memory["logits"][: count * m, : self._call.width]
            return rows.reshape(count, m, -1).clone()

    def _tables(self, heads: range, terms: int) -> tuple[int, int]:
        """The places of these heads' matrices in the address table: terms, blocks."""
        if (heads, terms) not in self._addresses:
            self._addresses[heads, terms] = tuple(
                np.array([[matrix.address for matrix in of[k]] for k in heads], np.int64)
                for of in ([t[:terms] for t in self._terms], self._blocks)
            )
        return tuple(table.ctypes.data for table in self._addresses[heads, terms])

    def _make_room(self, sources: int, rows: int) -> None:
        if sources <= self._room[0] and rows <= self._room[1]:
            return
        self._room = max(sources, self._room[0]), max(rows, self._room[1])
        sources, rows = self._room
        record = self._hidden // GROUP * RECORD
        self._memory = {
            "source_records": torch.empty(sources * record, dtype=torch.uint8),
            "records": torch.empty(rows * record, dtype=torch.uint8),
            "x": torch.empty(rows, self._hidden),
            "logits": torch.empty(rows, self._call.num_tiles * self._call.lanes),
            "scratch": torch.empty(team_size(), max(self._hidden, self._call.lanes * rows)),
        }
        self._call.scratch_size = self._memory["scratch"].shape[1]
        for name, tensor in self._memory.items():
            setattr(self._call, name, tensor.data_ptr())
