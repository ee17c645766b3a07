"""Passes of fixed shapes through transformers' network, replayed as CUDA graphs on a GPU.

A pass over n rows runs as one over the next of a few sizes; the rows added see the prefix and
themselves, and nothing sees them. All that differs from step to step (tokens, positions, who sees
whom, the length of the prefix) is copied into one buffer, from which the pass itself makes its
positions and masks. So one recording for each size serves every tree and every length of a text,
up to its bucket (models/static_cache.py). Without a GPU the same passes run unrecorded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import torch
from torch import Tensor

from explorer.kernels.graphs import CudaGraphs, Recordings, Work
from explorer.kernels.layout import Layout
from explorer.kernels.lm_head import LMHead
from explorer.models.pass_buffer import PassBuffer
from explorer.models.static_cache import (
    Arena,
    ArenaPool,
    ArenaSlots,
    LayerStates,
    ShapeCache,
    StaticCache,
    bucket,
)

SIZES = (1, 2, 4, 8, 16, 24, 32, 48, 64, 80, 96, 128)  # rows of recorded passes
WIDEST = SIZES[-1]


def rounded(n: int) -> int:
    """The rows of the pass that n rows run in; wider ones, of a prompt, run as they are."""
    return next((size for size in SIZES if size >= n), n)


class Runs(Protocol):
    """What a pass needs of a model (models.base.LanguageModel)."""

    network: Any
    lm_head: LMHead
    device: torch.device
    context_length: int
    notes: list[str]

    @property
    def config(self) -> Any:
        """The text model's configuration."""
        ...

    @property
    def fixed_order(self) -> bool:
        """Whether attention reduces in one fixed order."""
        ...

    def run(self, tokens: Tensor, layout: Layout, cache: Any) -> Tensor:
        """Hidden states of one pass through the network."""
        ...


class StaticPass:
    """Runs passes of one network, and its LM head, in few shapes. Arguments as of LanguageModel."""

    def __init__(self, model: Runs, recordings: Recordings) -> None:
        self._model = model
        self.recordings = recordings
        self._pool: ArenaPool | None = None
        self._buffers: dict[int, PassBuffer] = {}
        self._heads: dict[int, tuple[Tensor, Work]] = {}

    def cache(self, tokens: int = 0) -> StaticCache:
        """An empty cache for a text of this many tokens, which may still get longer.

        Raises torch.OutOfMemoryError.
        """
        if self._pool is None:
            self._pool = ArenaPool(self._layer_states(), self._model.fixed_order)
        return StaticCache(self._pool, min(tokens, self._model.context_length) + WIDEST)

    @torch.inference_mode()
    def _layer_states(self) -> list[LayerStates]:
        """What the layers write of a row."""
        cache = ShapeCache(self._model.config.num_hidden_layers, self._model.fixed_order)
        row = torch.zeros(1, dtype=torch.int64)
        layout = Layout.of_tree(0, row, torch.ones(1, 1, dtype=torch.bool), cache.slots_for(1))
        self._model.run(row[None], layout, cache)
        return cache.states

    @torch.inference_mode()
    def __call__(self, tokens: Tensor, offsets: Tensor, mask: Tensor, cache: StaticCache) -> Tensor:
        """Hidden states [n, H]; arguments as in LanguageModel.forward."""
        n = len(tokens)
        rows = rounded(n)
        cache.reserve(cache.length + rows)
        buffer = self._buffer(rows)
        buffer.write(cache.length, tokens, offsets, mask)
        cache.read = buffer
        seen = min(bucket(cache.length + rows), cache.arena.capacity)
        run = self._pass(cache.arena, buffer, seen)
        return run()[:n].clone()  # the next pass writes to the same place

    def _buffer(self, rows: int) -> PassBuffer:
        if rows > WIDEST:
            return PassBuffer.empty(rows, self._model.device)
        if rows not in self._buffers:
            self._buffers[rows] = PassBuffer.empty(rows, self._model.device)
        return self._buffers[rows]

    def _pass(self, arena: Arena, buffer: PassBuffer, seen: int) -> Work:
        """The pass over `seen` slots of this arena, recorded when it is first asked for."""

        def work() -> Tensor:
            slots = ArenaSlots(arena, buffer.slots(), seen)
            return self._model.run(buffer.tokens[None], buffer.layout(seen), slots)[0]

        if buffer.rows > WIDEST:
            return work
        key = buffer.rows, seen
        if key not in arena.passes:
            arena.passes[key] = self._recorded(work)
        return arena.passes[key]

    @torch.inference_mode()
    def logits(self, hidden: Tensor) -> Tensor:
        """hidden [n, H] → logits [n, V] float32, by a product of one of the sizes."""
        n = len(hidden)
        rows = rounded(n)
        if rows > WIDEST:
            return self._model.lm_head(hidden)
        if rows not in self._heads:
            given = hidden.new_zeros(rows, hidden.shape[1])
            self._heads[rows] = given, self._recorded(lambda: self._model.lm_head(given))
        given, work = self._heads[rows]
        given[:n].copy_(hidden)
        return work()[:n].clone()

    def _recorded(self, work: Callable[[], Tensor]) -> Work:
        was_active = self.recordings.active
        recorded = self.recordings.of(work)
        if was_active and not self.recordings.active:
            self._model.notes.append(self.sentence)
        return recorded

    def like(self, model: Runs) -> StaticPass:
        """The same for another model on this device, in the same pool of memory."""
        return StaticPass(model, self.recordings)

    @property
    def sentence(self) -> str:
        """How the passes run, in one line for the user."""
        if self.recordings.active:
            return "Passes run as CUDA graphs, plain decoding's, too: one for each size of a pass."
        return f"Passes run one kernel at a time ({self.recordings.why_not})."


def static_pass(model: Runs) -> StaticPass | None:
    """The recorded passes of a model on one GPU; None elsewhere, on several with a note why."""
    if model.device.type != "cuda":
        return None
    devices = {str(parameter.device) for parameter in model.network.parameters()}
    if len(devices) > 1:
        model.notes.append(
            f"Passes run one kernel at a time: the layers lie on {', '.join(sorted(devices))}, "
            "which take turns (placement, not tensor parallelism)."
        )
        return None
    return StaticPass(model, Recordings(CudaGraphs(model.device)))
