"""What every method would have drafted at every position of one greedy text.

The text is written once, plainly. Then each drafter is asked at each position, with the hidden
state and the text that a step there would have. Lookahead learns from its own passes, so it is
known only where its own run stood.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import torch

from explorer.analysis.who_knew import Ahead, WhoKnew, compare_knowledge
from explorer.decoding.cache import KVCache
from explorer.decoding.drafter import Context, Draft, Drafter
from explorer.decoding.loop import PREFILL_CHUNK, StepResult
from explorer.decoding.registry import DrafterInputs, make_drafter
from explorer.decoding.tree import causal_mask
from explorer.measuring.lab_protocol import LabProtocol
from explorer.models.chat import TokenTexts
from explorer.records.errors import ExplorerError
from explorer.records.methods import METHODS, PLAIN, find_method
from explorer.records.progress import Progress, quiet
from explorer.records.settings import DecodeSettings

if TYPE_CHECKING:
    from explorer.models.base import LanguageModel

OWN_RUN = "lookahead"
NOTE = (
    "lookahead learns from its own passes, so it is known only where its own run stood, and not "
    "drafted elsewhere."
)


@torch.inference_mode()
def who_knew(
    lab: LabProtocol,
    prompt: str,
    settings: DecodeSettings,
    methods: Sequence[str] = (),
    progress: Progress | None = None,
    cancel: threading.Event | None = None,
) -> WhoKnew:
    """Compare `methods`, by default all that the lab can run. Raises ExplorerError.

    Only greedy text is the same for all methods, so a temperature is refused. `cancel` ends it
    between two methods.
    """
    if settings.temperature > 0:
        raise ExplorerError(
            "Only greedy text is the same for all methods: set the temperature to 0."
        )
    say, chosen = progress or quiet, list(methods) or runnable(lab, METHODS)
    prompt_ids = lab.encode(prompt, settings)
    reply = _written(lab, prompt_ids, settings.model_copy(update={"method": PLAIN}))
    hidden = _hidden(lab.model, [*prompt_ids, *reply])[len(prompt_ids) - 1 :]
    found: dict[str, Ahead] = {}
    for number, name in enumerate(chosen):
        if cancel is not None and cancel.is_set():
            raise ExplorerError("Comparing drafts was stopped before all methods were asked.")
        say(name, number / len(chosen))
        lane = settings.model_copy(update={"method": name})
        if name == OWN_RUN:
            found[name] = _in_its_own_run(lab, prompt_ids, lane, len(reply))
        else:
            found[name] = _everywhere(_drafter(lab, lane, prompt_ids), prompt_ids, reply, hidden)
    pieces = TokenTexts(lab.model.tokenizer)
    return compare_knowledge(
        [pieces[token].label for token in reply], found, [NOTE] if OWN_RUN in found else []
    )


def runnable(lab: LabProtocol, methods: Iterable[str]) -> list[str]:
    """Those of the methods that draft, and that this lab has the heads for."""
    needed = {name: METHODS[name].heads for name in methods if name != PLAIN}
    return [name for name, heads in needed.items() if not heads or heads in lab.heads]


def _written(lab: LabProtocol, ids: list[int], settings: DecodeSettings) -> list[int]:
    steps = (item for item in lab.steps(ids, settings) if isinstance(item, StepResult))
    return [token for step in steps for token in step.emitted]


def _hidden(model: LanguageModel, ids: list[int]) -> torch.Tensor:
    """Hidden states [T, H] of a text, in the passes that decoding makes."""
    cache, parts = KVCache.of(model), []
    for part in torch.tensor(ids).split(PREFILL_CHUNK):
        n = part.numel()
        parts.append(model.forward(part, torch.arange(n), causal_mask(n), cache).clone())
        cache.commit(range(n))
    return torch.cat(parts)


def _drafter(lab: LabProtocol, settings: DecodeSettings, prompt_ids: list[int]) -> Drafter:
    method, heads = find_method(settings.method, lab.heads), lab.heads_for(settings)
    tree = lab.tree_for(settings, len(prompt_ids))
    inputs = DrafterInputs(lab.model, heads.heads if heads else None, tree, lab.draft_model)
    drafter = make_drafter(method, inputs, settings)
    drafter.begin(prompt_ids)
    return drafter


def _everywhere(
    drafter: Drafter, prompt_ids: list[int], reply: list[int], hidden: torch.Tensor
) -> list[int]:
    """Right drafts of a step at each token; hidden [R + 1, H], the prompt's last token first."""
    found = []
    for i, root in enumerate(reply):
        text, left = [*prompt_ids, *reply[: i + 1]], len(reply) - i - 1
        if not left:
            found.append(0)
            break
        context = Context(root, hidden[i : i + 1], text, left)
        found.append(right_drafts(drafter.draft(context), reply[i + 1 :]))
    return found


def right_drafts(draft: Draft, follows: Sequence[int]) -> int:
    """How many drafts are right in a row, from the root down, if these tokens follow it."""
    row = depth = 0
    for token in follows:
        below = (c for c in draft.tree.children[row] if int(draft.tokens[c]) == token)
        child = next(below, None)
        if child is None:
            break
        row, depth = child, depth + 1
    return depth


def _in_its_own_run(
    lab: LabProtocol, ids: list[int], settings: DecodeSettings, length: int
) -> list[int | None]:
    found: list[int | None] = [None] * length
    at = 0
    for item in lab.steps(ids, settings):
        if isinstance(item, StepResult) and at < length:
            found[at] = len(item.emitted) - 1
            at += len(item.emitted)
    return found
