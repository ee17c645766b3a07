"""The attention weights of one layer in one step, computed again from the recorded tokens.

The pass is the step's own: same prefix, same rows, same mask and positions, through the model's own
forward pass. It stops at the requested layer. Its softmax(QKᵀ) comes from the layer's own queries
and keys, so this works for every architecture that can be decoded, including sliding windows and
capped scores.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from explorer.decoding.cache import KVCache
from explorer.decoding.loop import PREFILL_CHUNK
from explorer.decoding.tree import causal_mask, rows_of
from explorer.models.base import LanguageModel
from explorer.records.errors import ExplorerError


class _EndOfPassError(Exception):
    """Raised to stop after the requested layer."""


@torch.inference_mode()
def attention_weights(
    model: LanguageModel,
    prefix: Sequence[int],
    token_ids: Sequence[int],
    parents: Sequence[int],
    layer: int,
) -> Tensor:
    """Weights of all heads of a layer: float32 [heads, n, prefix + n] on the CPU; rows sum to 1.

    prefix: the token ids before the step, at least one. token_ids, parents [n]: the rows of the
    step's tree, parents first, −1 the root's. layer counts from 0. Raises ExplorerError for tokens
    and layers that the model does not have.
    """
    _require_known(model, prefix, token_ids, layer)
    cache = KVCache.of_network(model)
    depths, mask = rows_of(parents)
    found: list[Tensor] = []
    with _stopping_at(model, layer, found):
        for part in torch.tensor(prefix).split(PREFILL_CHUNK):
            n = part.numel()
            _pass(model, part, torch.arange(n), causal_mask(n), cache)
            cache.commit(range(n))
            found.clear()
        _pass(model, torch.tensor(token_ids), depths, mask, cache)
    if not found:
        raise ExplorerError(
            f"The attention weights of {model.name} cannot be computed: choose another model."
        )
    return found[0][:, :, : len(prefix) + len(token_ids)].cpu()


def _require_known(
    model: LanguageModel, prefix: Sequence[int], token_ids: Sequence[int], layer: int
) -> None:
    tokens = [*prefix, *token_ids]
    if not 0 <= layer < model.config.num_hidden_layers:
        raise ExplorerError(
            f"The model has the layers 0 to {model.config.num_hidden_layers - 1}: choose one."
        )
    if max(tokens) >= model.vocab_size or min(tokens) < 0:
        raise ExplorerError("A token id lies outside the model's vocabulary: use its own traces.")
    depth_beyond = len(prefix) - model.context_length
    if not prefix or depth_beyond >= 0:
        raise ExplorerError(
            f"The text before a step has 1 to {model.context_length - 1} tokens with this model, "
            f"not {len(prefix)}: choose another step."
        )


def _pass(
    model: LanguageModel, tokens: Tensor, offsets: Tensor, mask: Tensor, cache: KVCache
) -> None:
    with contextlib.suppress(_EndOfPassError):
        model.forward(tokens, offsets, mask, cache)


@contextlib.contextmanager
def _stopping_at(model: LanguageModel, layer: int, found: list[Tensor]) -> Iterator[None]:
    """Inside this context, a pass puts the layer's weights into `found` and stops."""
    name = model.config._attn_implementation
    usual = ALL_ATTENTION_FUNCTIONS.get(name)
    modules = set(model.network.modules())

    def attention(module, query, key, value, attention_mask, **options):
        if module not in modules or module.layer_idx != layer:
            function = usual or _eager(module)
            return function(module, query, key, value, attention_mask, **options)
        # Its keys are in the cache now; later passes need nothing else from this layer.
        scaling, softcap = options["scaling"], options.get("softcap")
        found.append(_softmax(query, key, attention_mask, scaling, softcap))
        raise _EndOfPassError

    ALL_ATTENTION_FUNCTIONS[name] = attention
    try:
        yield
    finally:
        del ALL_ATTENTION_FUNCTIONS[name]


def _eager(module: torch.nn.Module) -> Callable:
    """The `eager` attention in the architecture's own file of transformers."""
    return sys.modules[type(module).__module__].eager_attention_forward


def _softmax(
    query: Tensor, key: Tensor, mask: Tensor, scaling: float, softcap: float | None
) -> Tensor:
    """softmax(QKᵀ · scaling) over visible slots, float32 [heads, n, slots].

    query [1, heads, n, head size]; key [1, kv heads, slots, head size], or as fixed-order attention
    keeps it (kernels/attention.py); mask [1, 1, n, slots] bool, or additive.
    """
    slots = mask.shape[-1]
    keys = key[:, :, :slots] if key.dim() == 3 else key[0].transpose(1, 2)  # [kv, size, slots]
    heads, n, size = query.shape[1:]
    grouped = query[0].float().reshape(keys.shape[0], -1, size)  # heads that share keys, together
    scores = (grouped @ keys.float()).view(heads, n, slots) * scaling
    if softcap is not None:
        scores = softcap * torch.tanh(scores / softcap)
    visible = mask[0, 0] if mask.dtype == torch.bool else mask[0, 0] == 0
    return scores.masked_fill(~visible, -torch.inf).softmax(dim=-1)
