"""A KV cache at fixed addresses, for passes that are recorded once and replayed.

An arena is the memory of one sequence. The slots that a pass attends to are rounded up to buckets,
so a text meets few different shapes as it grows. An arena goes back to its pool with
the sequence, and the recordings made on it serve the next one.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from explorer.kernels.graphs import Work
from explorer.models.pass_buffer import PassBuffer
from explorer.models.slots import (
    SlotCache,
    SlotLayer,
    committed_states,
    empty_states,
    keep_rows,
    slot_axes,
)

SMALLEST_BUCKET = 256  # slots; a multiple of attention.SLOT_BLOCK


def bucket(slots: int) -> int:
    """`slots` rounded up: to 256, and beyond 1024 to a half of the power of two below."""
    below = 1 << max(slots - 1, 1).bit_length() - 1
    step = max(SMALLEST_BUCKET, below // 2)
    return -(-slots // step) * step


@dataclass(frozen=True)
class LayerStates:
    """Keys and values of one row as a layer writes them, [1, kv heads, 1, head size]."""

    keys: Tensor
    values: Tensor


@dataclass
class Arena:
    """Memory for the keys and values of one sequence; `passes` are recorded on its addresses.

    `stacks` holds the states of all layers of one size in one tensor, so that a commit is a few
    operations whatever the number of layers: pairs of [layers, …] and the axis of the slots.
    """

    capacity: int
    fixed_order: bool
    keys: list[Tensor]
    values: list[Tensor]
    stacks: list[tuple[Tensor, int]]
    passes: dict[tuple[int, int], Work] = field(default_factory=dict)

    @classmethod
    def of(cls, layers: Sequence[LayerStates], capacity: int, fixed_order: bool) -> Arena:
        """An empty arena for layers that write such states."""
        sides = [(layer.keys, True) for layer in layers] + [(la.values, False) for la in layers]
        kinds: dict[tuple, list[int]] = {}
        for place, (states, keys) in enumerate(sides):
            # In the library's layout keys and values of one size lie in one tensor.
            kind = (states.shape, states.dtype, states.device, keys and fixed_order)
            kinds.setdefault(kind, []).append(place)
        slots: list[Tensor] = [states for states, _ in sides]
        stacks = []
        for places in kinds.values():
            like, keys = sides[places[0]]
            stack = empty_states(like, capacity, fixed_order, keys, layers=(len(places),))
            stacks.append((stack, 1 + slot_axes(fixed_order)[0 if keys else 1]))
            for place, part in zip(places, stack, strict=True):
                slots[place] = part
        return cls(capacity, fixed_order, slots[: len(layers)], slots[len(layers) :], stacks)

    @torch.inference_mode()
    def keep(self, length: int, rows: Tensor) -> None:
        """Move rows [m] of the pass after `length` slots to the first slots after them."""
        for stack, axis in self.stacks:
            keep_rows(stack, axis, length, rows)

    @torch.inference_mode()
    def copy_from(self, other: Arena, length: int) -> None:
        """Take over the first `length` slots of a smaller arena."""
        for (stack, axis), (smaller, _) in zip(self.stacks, other.stacks, strict=True):
            stack.narrow(axis, 0, length).copy_(smaller.narrow(axis, 0, length))

    def forget(self) -> None:
        """Drop what was recorded, which holds on to this memory in a circle."""
        self.passes.clear()

    def committed(self, layer: int, length: int) -> tuple[Tensor, Tensor]:
        """Keys and values of a layer's first `length` slots, each [kv heads, length, head size]."""
        return committed_states(self.keys[layer], self.values[layer], length, self.fixed_order)


class ArenaPool:
    """The arenas of finished sequences, for those to come."""

    def __init__(self, layers: Sequence[LayerStates], fixed_order: bool) -> None:
        self._layers, self._fixed_order = layers, fixed_order
        self._free: list[Arena] = []

    def take(self, slots: int) -> Arena:
        """An arena of at least this many slots. Raises torch.OutOfMemoryError."""
        fitting = [arena for arena in self._free if arena.capacity >= slots]
        if not fitting:
            # Too small for now, and a larger one serves short texts, too.
            while self._free:
                self._free.pop().forget()
            capacity = -(-slots // SMALLEST_BUCKET) * SMALLEST_BUCKET
            return Arena.of(self._layers, capacity, self._fixed_order)
        found = min(fitting, key=lambda arena: arena.capacity)
        self._free = [arena for arena in self._free if arena is not found]
        return found

    def give(self, arena: Arena) -> None:
        """Take an arena back."""
        self._free.append(arena)


class StaticCache:
    """The KV cache of one sequence in an arena: `length` committed slots."""

    def __init__(self, pool: ArenaPool, slots: int) -> None:
        self.length = 0
        self.read: PassBuffer | None = None  # what the latest pass read
        self._pool = pool
        self._moved = False
        self._lease(pool.take(max(slots, 1)))

    def _lease(self, arena: Arena) -> None:
        self.arena = arena
        self.fixed_order = arena.fixed_order
        self._end = weakref.finalize(self, self._pool.give, arena)
        self._end.atexit = False

    def reserve(self, slots: int) -> None:
        """Make room for this many slots; what is committed stays. Forgets what was moved."""
        self._moved = False
        if slots <= self.arena.capacity:
            return
        small = self.arena
        # Twice as large at least: what was recorded has to be recorded again.
        larger = self._pool.take(max(slots, 2 * small.capacity))
        larger.copy_from(small, self.length)
        self._end.detach()
        small.forget()
        self._lease(larger)

    def move(self, rows: Tensor) -> None:
        """Move rows [m] of the last pass, on its device, to where `commit` will want them.

        The first of them are the path that will be committed; what follows is of no account.
        """
        self.arena.keep(self.length, rows)
        self._moved = True

    def commit(self, rows: Sequence[int]) -> None:
        """Keep these rows of the last pass, in this order; drop its other rows."""
        if not self._moved and list(rows) != list(range(len(rows))):
            device = self.arena.stacks[0][0].device
            self.arena.keep(self.length, torch.tensor(rows, device=device))
        self._moved = False
        self.length += len(rows)

    def rewind(self, length: int) -> None:
        """Forget all but the first `length` committed tokens."""
        self.length = min(length, self.length)

    @property
    def layers(self) -> list[StaticLayerView]:
        """Each layer's committed keys and values, to look at."""
        return [StaticLayerView(self, layer) for layer in range(len(self.arena.keys))]


@dataclass(frozen=True)
class StaticLayerView:
    """One layer of a cache."""

    cache: StaticCache
    layer: int

    @property
    def keys(self) -> Tensor:
        """All slots of its keys, as they lie in memory."""
        return self.cache.arena.keys[self.layer]

    @property
    def values(self) -> Tensor:
        """All slots of its values, as they lie in memory."""
        return self.cache.arena.values[self.layer]

    def committed(self) -> tuple[Tensor, Tensor]:
        """Keys and values of the prefix, each [kv heads, length, head size]."""
        return self.cache.arena.committed(self.layer, self.cache.length)


class _ArenaLayer(SlotLayer):
    """One layer's slots in a pass: rows are written at `at` [n], the first `seen` are attended."""

    def __init__(self, keys: Tensor, values: Tensor, at: Tensor, seen: int, fixed: bool) -> None:
        super().__init__()
        self.keys, self.values, self.at, self.seen, self.fixed_order = keys, values, at, seen, fixed
        self.length = 0  # no number of a text may enter a recording
        self.is_initialized = True

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None:
        """Nothing to do."""

    def update(
        self, key_states: Tensor, value_states: Tensor, *_: object, **__: object
    ) -> tuple[Tensor, Tensor]:
        """Write the pass's rows [1, kv heads, n, head size]; return the slots to attend to."""
        if self.fixed_order:  # it takes whole tensors, and looks at as many slots as its mask has
            self.keys.index_copy_(2, self.at, key_states[0].transpose(1, 2).float())
            self.values.index_copy_(1, self.at, value_states[0].float())
            return self.keys, self.values
        self.keys.index_copy_(2, self.at, key_states)
        self.values.index_copy_(2, self.at, value_states)
        return self.keys[:, :, : self.seen], self.values[:, :, : self.seen]


class ArenaSlots(SlotCache):
    """An arena as a pass of transformers' network sees it."""

    def __init__(self, arena: Arena, at: Tensor, seen: int) -> None:
        pairs = zip(arena.keys, arena.values, strict=True)
        fixed = arena.fixed_order
        super().__init__(layers=[_ArenaLayer(k, v, at, seen, fixed) for k, v in pairs])
        self.fixed_order, self.length = fixed, 0


class _ShapeLayer(SlotLayer):
    """Keeps nothing but what the states of a one-row pass look like."""

    def __init__(self, fixed_order: bool) -> None:
        super().__init__()
        self.fixed_order, self.length = fixed_order, 0
        self.states: LayerStates | None = None
        self.is_initialized = True

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None:
        """Nothing to do."""

    def update(
        self, key_states: Tensor, value_states: Tensor, *_: object, **__: object
    ) -> tuple[Tensor, Tensor]:
        """States in the layout that the attention wants."""
        self.states = LayerStates(key_states, value_states)
        if not self.fixed_order:
            return key_states, value_states
        keys = empty_states(key_states, SMALLEST_BUCKET, True, keys=True)
        return keys, empty_states(value_states, SMALLEST_BUCKET, True, keys=False)


class ShapeCache(SlotCache):
    """The cache of one pass over one row, to learn what each layer writes."""

    def __init__(self, num_layers: int, fixed_order: bool) -> None:
        super().__init__(layers=[_ShapeLayer(fixed_order) for _ in range(num_layers)])
        self.fixed_order, self.length = fixed_order, 0

    @property
    def states(self) -> list[LayerStates]:
        """Of each layer in order. Raises ValueError where a layer writes none of its own."""
        found = [layer.states for layer in self.layers]
        if any(states is None for states in found):
            raise ValueError("some of its layers keep no keys and values of their own")
        return found
