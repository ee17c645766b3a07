"""The start-up check: tests a model's passes on the machine at hand.

Two questions at start-up: do our passes (own cache, own mask, own attention, own LM head) compute
the logits that the unmodified network itself computes for the same texts; and is a row's result the
same bits with any other rows in the pass?
The first is tested twice: on a tiny random network of the same architecture before the weights are
read (models/miniature.py), with small windows and limits, and on the loaded network.
"""

from __future__ import annotations

import itertools
import logging

import torch
import torch.nn.functional as F
from transformers import PretrainedConfig, PreTrainedModel

from explorer.decoding.cache import KVCache
from explorer.kernels.attention import FIXED_ORDER
from explorer.kernels.layout import Layout
from explorer.measuring.probe import Probe, causal_pass, difference, our_logits, own_logits
from explorer.models.architecture import refuse_unsupported
from explorer.models.base import LanguageModel
from explorer.models.head_input import lm_head_input
from explorer.models.loader import choose_attention, make_lm_head
from explorer.models.miniature import miniature, tiny_network
from explorer.models.positions import follow_layout
from explorer.models.rotary import settle_rotary
from explorer.models.static_pass import StaticPass, static_pass
from explorer.records.errors import ExplorerError

LIMITS = (64, 16)  # rows that a product of the LM head is limited to, the first that is invariant
# Largest difference of two right computations, as a share of the logits' spread.
SAME_MEANING = {"fp32": 1e-3}
SAME_MEANING_ROUNDED = 0.2  # on backends that round
EXACT = (
    "Bit-exact on this machine: the same text, bit for bit, however many tokens are checked at "
    "once."
)
log = logging.getLogger(__name__)
NOT_EXACT = "Not bit-exact: this backend's results vary in the last bits with the pass's width."


def check_model(model: LanguageModel) -> None:
    """Set `model.bit_exact`, or raise ExplorerError if the architecture is not understood.

    The model keeps the first attention that is right: in fixed order, else the library's.
    Its texts end where its rotary factors would change.
    """
    refuse_unsupported(model.network, model.name)
    if first := follow_layout(model.network):
        model.context_length = min(
            model.context_length, model.config.max_position_embeddings - first
        )
    border = settle_rotary(model.network)
    if border is not None and border < model.context_length:
        model.context_length = border
        model.notes.append(
            f"Texts end at {border} tokens: after that the model's rotary factors change, which "
            "cached keys cannot follow."
        )
    make_lm_head_invariant(model)
    wanted = model.fixed_order
    fault = _choose_right_attention(model)
    if fault is not None:
        raise unsupported(model.name, model.config.model_type, fault)
    _forget_stray_window(model)
    check_static_passes(model, static_pass(model))
    if wanted and not model.fixed_order:
        model.notes.append(
            f"Not bit-exact: only transformers' own attention ({model.config._attn_implementation})"
            " is right for this architecture, and its last bits vary with the pass."
        )
        return
    model.bit_exact = model.fixed_order and _is_bit_exact(model)
    model.notes.append(EXACT if model.bit_exact else NOT_EXACT)


def check_static_passes(model: LanguageModel, static: StaticPass | None) -> None:
    """Let the model run in passes of fixed shapes, if there are any and they are right."""
    model.static = static
    if static is None:
        return
    try:
        fault = _fault(model)
    except (MemoryError, torch.OutOfMemoryError):
        raise
    except Exception as error:  # any exception of a network that does not support such passes
        fault = f"they fail with {type(error).__name__}: {_short(error)}"
    if fault is not None:
        model.static = None
        model.notes.append(f"Passes run one kernel at a time: in fixed shapes {fault}.")
    elif static.recordings.active:
        model.notes.append(static.sentence)


def check_architecture(config: PretrainedConfig, name: str) -> None:
    """Refuse an architecture before its weights are read. Raises ExplorerError.

    It tests a tiny random network of the same kind; if none can be made, the loaded network is
    tested later.
    """
    refuse_unsupported(config, name)
    try:
        network = tiny_network(miniature(config))
        with torch.inference_mode():
            network(input_ids=torch.arange(3, 8)[None])
    except Exception:  # its class cannot be so small: this says nothing about the real network
        return
    check_model(wrapped(network, name))


def wrapped(network: PreTrainedModel, name: str) -> LanguageModel:
    """A network on the CPU without tokenizer, as a base model."""
    device = torch.device("cpu")
    choose_attention(network, device)
    context = getattr(network.config.get_text_config(), "max_position_embeddings", None)
    return LanguageModel(
        network=network,
        tokenizer=None,  # pyright: ignore[reportArgumentType] - nothing here reads text
        lm_head=make_lm_head(network),
        name=name,
        backend="fp32",
        device=device,
        context_length=context or 512,
        eos_ids=frozenset(),
    )


def unsupported(name: str, model_type: str, fault: str) -> ExplorerError:
    """The refusal of an architecture, with the reason."""
    return ExplorerError(
        f"The architecture of {name} ({model_type}) is not supported: {fault}; choose another "
        "model."
    )


def _choose_right_attention(model: LanguageModel) -> str | None:
    """Try attentions until one is right; returns the first one's fault if none is."""
    first = None
    if model.compiled is not None:
        if _fault(model) is None:
            return None
        model.compiled = None
        model.notes.append("Passes run through transformers: the compiled pass is not right here.")
    for attention in _attentions(model):
        try:
            model.network.set_attn_implementation(attention)
            fault = _fault(model)
        except (MemoryError, torch.OutOfMemoryError):
            raise
        except Exception as error:  # any exception of a network that does not support our passes
            log.debug("%s with %s attention", model.name, attention, exc_info=error)
            fault = "its passes cannot run on a KV cache with the rows of a tree"
        if fault is None:
            return None
        first = first or fault
    return first


def _attentions(model: LanguageModel) -> list[str]:
    chosen = model.config._attn_implementation
    return [chosen, *(("sdpa", "eager") if chosen == FIXED_ORDER else ())]


def _fault(model: LanguageModel) -> str | None:
    """The fault of our passes, if any, compared with the network's own logits."""
    with torch.inference_mode():
        probe = Probe.of(model)
        with model.library_attention():
            theirs = own_logits(model.network, probe)
        if not theirs.isfinite().all():
            return "its logits are not numbers"
        model.whole_network = _needs_whole_network(model, probe.prefix)
        if fault := _head_fault(model, probe.prefix):
            return fault
        off = difference(our_logits(model, probe), theirs)
    most = SAME_MEANING.get(model.backend, SAME_MEANING_ROUNDED)
    if not off[: len(probe.prefix)].max() <= most:
        return "its layers compute something else in passes over a part of the text"
    if not off.max() <= most:
        return "its layers compute something else with a tree-attention mask"
    return None


def _needs_whole_network(model: LanguageModel, tokens: torch.Tensor) -> bool:
    """Whether there are operations between the network's body and its LM head."""
    inputs = {"input_ids": tokens[None].to(model.device)}
    with model.library_attention():
        given = lm_head_input(model.network, **inputs)
        try:
            body = model.network.base_model(**inputs).last_hidden_state
        except (AttributeError, TypeError):
            return True
        return body.shape != given.shape or not torch.allclose(body, given)


def _head_fault(model: LanguageModel, tokens: torch.Tensor) -> str | None:
    """The fault of our LM head, if any, with the network's own hidden states."""
    with model.library_attention():
        theirs = model.network(input_ids=tokens[None].to(model.device)).logits[0].float()
        hidden = model.hidden_states(tokens)
    most = SAME_MEANING.get(model.backend, SAME_MEANING_ROUNDED)
    scale = model.lm_head.scale
    # Some classes multiply where others divide, and some scale the hidden states before.
    for model.lm_head.scale in dict.fromkeys((scale, 1.0 / scale, 1.0)):
        ours = model.logits(hidden)
        if ours.shape == theirs.shape and difference(ours, theirs).max() <= most:
            return None
    return "its LM head is more than a matrix, and its other operations are not supported"


@torch.inference_mode()
def _forget_stray_window(model: LanguageModel) -> None:
    """Remove a window that no layer uses from the configuration: the library's caches use it."""
    window = getattr(model.config, "sliding_window", None)
    if not isinstance(window, int) or window + 1 >= model.context_length:
        return  # no text is as long
    cache = KVCache.of_network(model)
    model.forward(
        torch.tensor([5]), torch.zeros(1, dtype=torch.int64), torch.ones(1, 1).bool(), cache
    )
    cache.commit([0])
    slots = torch.zeros(1, cache.slots_for(1), dtype=torch.int64)
    seen = torch.zeros(1, 1, slots.shape[1], dtype=torch.bool)
    seen[..., 0] = True
    masks: list[torch.Tensor] = []
    layout = Layout(torch.tensor([[window + 1]]), slots, seen, masks=masks)
    model.run(torch.tensor([[5]]), layout, cache)
    if all(mask[..., 0].all() for mask in masks):
        try:
            model.config.sliding_window = None
        except Exception:  # a class without a value for "none": a window that no text reaches
            model.config.sliding_window = 1 << 30


def _is_bit_exact(model: LanguageModel) -> bool:
    tokens = Probe.of(model).prefix
    whole, first, rest = (_in_passes(model, tokens, w) for w in _widths(len(tokens)))
    return torch.equal(whole, first) and torch.equal(whole, rest)


def _widths(count: int) -> tuple[list[int], list[int], list[int]]:
    """One pass, passes of one row, and mixed ones."""
    mixed, left = [], count
    for width in itertools.cycle((3, 8, 1)):
        if left <= 0:
            break
        mixed.append(min(width, left))
        left -= width
    return [count], [1] * count, mixed


def make_lm_head_invariant(model: LanguageModel) -> None:
    """Limit the LM head's products to widths with which a row has the same bits at any width.

    Libraries change their tiling with the number of rows, at a width that differs from machine to
    machine. Only if no limit helps, every product is padded, which slows plain decoding, too.
    """
    head = model.lm_head
    if head.invariant:
        return
    generator = torch.Generator().manual_seed(0)
    hidden = torch.randn(LIMITS[0], model.hidden_size, generator=generator).to(head.weight)
    head.most_rows = next(
        (limit for limit in LIMITS if _is_invariant_up_to(head.weight, hidden[:limit])), None
    )
    head.padded = head.most_rows is None
    if head.padded:
        head.most_rows = LIMITS[-1]


def _is_invariant_up_to(weight: torch.Tensor, hidden: torch.Tensor) -> bool:
    """Whether a product of any narrower width has the bits of the one over all of `hidden`."""
    whole = F.linear(hidden, weight)
    return all(
        torch.equal(F.linear(hidden[:n], weight), whole[:n]) for n in range(1, hidden.shape[0])
    )


def _in_passes(model: LanguageModel, tokens: torch.Tensor, widths: list[int]) -> torch.Tensor:
    """Hidden states [T, H] of `tokens`, computed in causal passes of the given widths."""
    cache = KVCache.of(model)
    return torch.cat([causal_pass(model, part, cache) for part in tokens.split(widths)])


def _short(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0][:120] if lines else "no details"
