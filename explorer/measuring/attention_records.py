"""From attention weights to records: some prefix slots singly, the others as a sum."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from explorer.decoding.tree import rows_of
from explorer.measuring.attention_weights import attention_weights
from explorer.models.base import LanguageModel
from explorer.records.attention import (
    MAX_CHARACTERS,
    MAX_VALUES,
    AttentionHead,
    AttentionQuestion,
    OtherModelError,
    packed,
)
from explorer.records.errors import ExplorerError
from explorer.records.schema import Trace

FIRST, HEAVIEST, LAST = 4, 8, 64  # prefix slots that are kept one by one, if there is room


def answer(model: LanguageModel, question: AttentionQuestion) -> list[AttentionHead]:
    """The requested head, and all other heads that fit into one message.

    Without a layer, the middle one; without a head, the one with the least weight on the first
    token. Raises ExplorerError if the question does not fit this model, or is too large.
    """
    require_same_model(model, question.model, question.backend)
    layers = model.config.num_hidden_layers
    layer = layers // 2 if question.layer is None else question.layer
    depths, _ = rows_of(question.parents)
    most_slots = (MAX_VALUES - int((2 + depths).sum())) // len(depths)
    if most_slots < FIRST:
        raise ExplorerError(
            "The tree of this step is too large for a picture of its weights: choose another step."
        )
    weights = attention_weights(model, question.prefix, question.token_ids, question.parents, layer)
    heads = weights.shape[0]
    first = telling_head(weights) if question.head is None else question.head
    if first >= heads:
        raise ExplorerError(f"The model has the heads 0 to {heads - 1}: choose one.")
    records: list[AttentionHead] = []
    room = MAX_CHARACTERS
    for head in [first, *(other for other in range(heads) if other != first)]:
        slots = telling_slots(weights[head], len(question.prefix), most_slots)
        text = packed(listed_rows(weights[head], len(question.prefix), slots, question.parents))
        room -= len(text)
        if room < 0:
            break
        of = {"step": question.step, "layer": layer, "head": head}
        records.append(AttentionHead(**of, layers=layers, heads=heads, slots=slots, weights=text))
    return records


def question_of(
    trace: Trace, step: int, layer: int | None = None, head: int | None = None
) -> AttentionQuestion:
    """The question about a step of a trace: from 0, or −1 the last. Raises ExplorerError."""
    if not -len(trace.steps) <= step < len(trace.steps):
        raise ExplorerError(f"The trace has the steps 0 to {len(trace.steps) - 1}: choose one.")
    step %= len(trace.steps)
    record = trace.steps[step]
    if not record.base_top:
        raise ExplorerError(f"Step {step} needed no verify pass: choose another one.")
    emitted = [token for earlier in trace.steps[:step] for token in earlier.emitted]
    prefix = [*trace.header.prompt_ids, *emitted]
    if len(prefix) != record.context_length:
        raise ExplorerError("The trace does not hold all tokens before the step: record it again.")
    return AttentionQuestion(
        model=trace.header.model,
        backend=trace.header.backend,
        step=step,
        prefix=prefix,
        token_ids=record.token_ids,
        parents=trace.trees[record.tree].parents,
        layer=layer,
        head=head,
    )


def require_same_model(model: LanguageModel, name: str, backend: str) -> None:
    """Raise ExplorerError unless the loaded model is the one that made a trace."""
    if (name, backend) != (model.name, model.backend):
        raise OtherModelError(
            f"The run was made with {name:.100} ({backend:.20}), but {model.name} "
            f"({model.backend}) is loaded: load that model to compute its weights."
        )


def telling_head(weights: Tensor) -> int:
    """Of weights [heads, n, prefix + n], the head with the least weight on the first token."""
    return int(weights[:, :, 0].mean(dim=1).argmin())


def telling_slots(weights: Tensor, prefix: int, most: int) -> list[int]:
    """The slots of the prefix to keep one by one, at most `most`: first, heaviest, last ones.

    weights [n, prefix + n] of one head.
    """
    if prefix <= min(most, FIRST + HEAVIEST + LAST):
        return list(range(prefix))
    heaviest = weights[:, :prefix].amax(dim=0).argsort(descending=True).tolist()
    ordered = [*range(FIRST), *heaviest[:HEAVIEST], *range(prefix - 1, prefix - 1 - LAST, -1)]
    return sorted(dict.fromkeys(ordered[:most]))


def listed_rows(
    weights: Tensor, prefix: int, slots: Sequence[int], parents: Sequence[int]
) -> list[list[float]]:
    """Rows of weights as AttentionHead.weights orders them; weights [n, prefix + n] of one head."""
    _, mask = rows_of(parents)
    single = weights[:, list(slots)]
    rest = weights[:, :prefix].sum(dim=1) - single.sum(dim=1)
    return [
        [float(rest[row]), *single[row].tolist(), *weights[row, prefix:][mask[row]].tolist()]
        for row in range(len(parents))
    ]


def weights_of_step(model: LanguageModel, trace: Trace, step: int, layer: int) -> torch.Tensor:
    """attention_weights of a step of a trace that this model made. Raises ExplorerError."""
    question = question_of(trace, step)
    require_same_model(model, question.model, question.backend)
    return attention_weights(model, question.prefix, question.token_ids, question.parents, layer)
