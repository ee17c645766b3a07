"""Many texts decoded side by side: whenever one ends, the next takes its place.

One pass gives every text its next token, so the weights are read once for all of them. Each text
has a slot in a KV cache of its own length; a text that joins is read in by a pass of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from transformers.cache_utils import Cache, CacheLayerMixin, DynamicCache

from explorer.kernels.layout import Layout
from explorer.models.base import LanguageModel
from explorer.training.data import right_padded

GROW_BY = 128  # positions
JOIN_TOGETHER = 8  # texts; one by one, reading them in would take a third of the time


class TextInProgress:
    """A text in progress: its beginning, the tokens so far, and its maximum length."""

    def __init__(self, ids: list[int], limit: int) -> None:
        self.ids, self.limit = ids, limit
        self.new: list[int] = []

    def choose(self, logits: torch.Tensor, likeliest: int) -> int:
        """The next token, given logits [V] and their argmax."""
        return likeliest

    def is_lost(self) -> bool:
        """Whether to stop the text before its end."""
        return False


class _Layer(CacheLayerMixin):
    """Keys and values [slots, heads, positions, size]; row b of a pass goes to `places[b]`."""

    is_compileable = False
    is_sliding = False

    def __init__(self, slots: int) -> None:
        super().__init__()
        self.slots = slots
        self.places = torch.zeros(slots, dtype=torch.long)
        self.longest = 0

    def lazy_initialization(self, key_states: torch.Tensor, value_states: torch.Tensor) -> None:
        _, heads, _, size = key_states.shape
        self.keys = key_states.new_zeros(self.slots, heads, GROW_BY, size)
        self.values = value_states.new_zeros(self.slots, heads, GROW_BY, value_states.shape[-1])
        self.is_initialized = True

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *_: object, **__: object
    ) -> tuple[torch.Tensor, torch.Tensor]:
        rows = torch.arange(self.slots)
        self._reserve(self.longest)
        self.keys[rows, :, self.places] = key_states[:, :, 0]
        self.values[rows, :, self.places] = value_states[:, :, 0]
        return self.keys[:, :, : self.longest], self.values[:, :, : self.longest]

    def put(self, slot: int, keys: torch.Tensor, values: torch.Tensor) -> None:
        """Keys and values [heads, T, size] of a whole text."""
        if not self.is_initialized:
            self.lazy_initialization(keys[None], values[None])
        self._reserve(keys.shape[1])
        self.keys[slot, :, : keys.shape[1]] = keys
        self.values[slot, :, : keys.shape[1]] = values

    def _reserve(self, positions: int) -> None:
        short = positions - self.keys.shape[2]
        if short > 0:
            extra = -(-short // GROW_BY) * GROW_BY
            self.keys = torch.nn.functional.pad(self.keys, (0, 0, 0, extra))
            self.values = torch.nn.functional.pad(self.values, (0, 0, 0, extra))

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        return self.longest, 0

    def get_seq_length(self) -> int:
        return self.longest

    def get_max_length(self) -> int:
        return -1


class _Slots:
    """The texts in their slots, and the cache that holds them."""

    def __init__(self, model: LanguageModel, slots: int) -> None:
        self.model = model
        self.texts: list[TextInProgress | None] = [None] * slots
        self.layers = [_Layer(slots) for _ in range(model.config.num_hidden_layers)]
        self.cache = Cache(layers=self.layers)
        self.lengths = torch.zeros(slots, dtype=torch.long)  # cached positions
        self.tokens = torch.zeros(slots, dtype=torch.long)  # chosen, not yet in the cache

    @property
    def free(self) -> list[int]:
        """Slots without a text."""
        return [slot for slot, text in enumerate(self.texts) if text is None]

    def join(self, texts: list[TextInProgress]) -> None:
        """Read texts in, right-padded, in one pass, and choose their first tokens."""
        slots = self.free[: len(texts)]
        ids = right_padded([text.ids for text in texts])
        cache = DynamicCache()  # no configuration: layers with a window keep all positions, too
        states = self.model.body(input_ids=ids.to(self.model.device), cache=cache, use_cache=True)
        for row, (slot, text) in enumerate(zip(slots, texts, strict=True)):
            length = len(text.ids)
            for ours, theirs in zip(self.layers, cache.layers, strict=True):
                ours.put(slot, theirs.keys[row, :, :length], theirs.values[row, :, :length])
            self.texts[slot], self.lengths[slot] = text, length
        ends = torch.tensor([len(text.ids) - 1 for text in texts])
        self._take(slots, states[torch.arange(len(texts)), ends])

    def step(self) -> None:
        """One token for every text."""
        longest = int(self.lengths.max()) + 1
        for layer in self.layers:
            layer.places, layer.longest = self.lengths, longest
        slots = torch.arange(longest)[None]  # a token lies at the place of its position
        layout = Layout(self.lengths[:, None], slots, (slots <= self.lengths[:, None])[:, None])
        hidden = self.model.run(self.tokens[:, None], layout, self.cache)
        busy = [slot for slot, text in enumerate(self.texts) if text is not None]
        self.lengths[busy] += 1
        self._take(busy, hidden[busy, 0])

    def _take(self, slots: list[int], hidden: torch.Tensor) -> None:
        """Choose each slot's next token from its hidden state [m, H]."""
        logits = self.model.logits(hidden)
        likeliest = logits.argmax(dim=-1).tolist()
        for slot, row, best in zip(slots, logits, likeliest, strict=True):
            token = self.texts[slot].choose(row, best)
            self.texts[slot].new.append(token)
            self.tokens[slot] = token

    def release(self) -> Iterator[TextInProgress]:
        """The texts that have ended; their slots are free again."""
        for slot, text in enumerate(self.texts):
            if text is not None and self._has_ended(text):
                self.texts[slot] = None
                self.lengths[slot] = 0
                yield text

    def _has_ended(self, text: TextInProgress) -> bool:
        ended = text.new[-1] in self.model.eos_ids or len(text.new) >= text.limit
        return ended or text.is_lost()


@torch.inference_mode()
def decode_together(
    model: LanguageModel, next_text: Callable[[], TextInProgress | None], slots: int
) -> Iterator[TextInProgress]:
    """Write texts, up to `slots` at a time; each is given back when it has ended.

    A text ends at an end-of-sequence token (kept), at its limit, or when it says that it is lost.
    `next_text` is asked whenever a slot is free; None means that none is waiting just now.
    """
    group = _Slots(model, slots)
    with model.library_attention():
        while True:
            while len(group.free) >= min(JOIN_TOGETHER, slots):
                texts = [text for _ in range(min(JOIN_TOGETHER, slots)) if (text := next_text())]
                if not texts:
                    break
                group.join(texts)
            if not any(group.texts):
                return
            yield from group.release()
            if any(group.texts):
                group.step()
                yield from group.release()
