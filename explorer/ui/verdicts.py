"""Why a node was accepted, rejected or never reached: sentences with numbers, as plain text."""

from __future__ import annotations

from explorer.figures.numbers import count, ordinal, probability
from explorer.figures.view import StepView


def node_title(view: StepView, row: int) -> str:
    """`␣fox · depth 2 · 1st guess of head 2`."""
    if row == 0:
        return f"{view.label(row)} · root"
    depth = view.depths[row]
    return (
        f"{view.label(row)} · depth {depth} · {ordinal(view.rank(row) + 1)} guess of head {depth}"
    )


def sentences(view: StepView, row: int) -> list[str]:
    """The verdict on a row, one idea a sentence."""
    verdict = view.step.verdicts[row]
    if verdict == "root":
        return _root(view)
    told = [_guess(view, row)]
    if verdict == "pruned":
        return [*told, _pruned(view, row)]
    if not view.step.choices:
        return told
    return [*told, _judgement(view, row)]


def step_sentence(view: StepView) -> str:
    """What a step did, in one sentence."""
    step = view.step
    drafts = max(0, len(step.emitted) - 1)
    if not step.base_top:
        return "The root ended the run, so nothing had to be verified."
    verified = f"One pass over {count(view.rows)} rows"
    kept = {0: "accepted no draft", 1: "accepted 1 draft"}.get(drafts, f"accepted {drafts} drafts")
    gained = f"{len(step.emitted)} token" + ("" if len(step.emitted) == 1 else "s")
    return f"{verified} {kept}: {gained} gained."


def _quoted(text: str) -> str:
    return f"‘{text}’"


def _root(view: StepView) -> list[str]:
    position = view.step.context_length
    told = [
        f"The base model had already chosen {_quoted(view.label(0))} for position "
        f"{count(position)}, so the root is always emitted."
    ]
    if not view.step.base_top:
        told.append("It ended the run: no verify pass was needed.")
    return told


def _guess(view: StepView, row: int) -> str:
    depth, rank, step = view.depths[row], view.rank(row), view.step
    which = "" if rank == 0 else f", its {ordinal(rank + 1)} guess"
    return (
        f"Head {depth} guessed {_quoted(view.label(row))} with "
        f"{probability(step.draft_probs[row])}{which}."
    )


def _pruned(view: StepView, row: int) -> str:
    path = view.ancestors(row)
    fallen = next((r for r in path if view.step.verdicts[r] == "rejected"), None)
    if fallen is None:
        return "It was never reached: the path ended before it."
    return (
        f"It was never reached: {_quoted(view.label(fallen))} at depth {view.depths[fallen]} was "
        "rejected, and everything below falls with it."
    )


def _judgement(view: StepView, row: int) -> str:
    accepted = view.step.verdicts[row] == "accepted"
    if view.rule == "typical":
        return _typical(view, row, accepted)
    if view.rule == "sample":
        return _sampled(view, row, accepted)
    return _greedy(view, row, accepted)


def _wanted(view: StepView, row: int) -> str:
    """What the rule wanted in the row's place, with its probability where it is known."""
    parent = view.parents[row]
    wanted = view.step.choices[parent]
    top = view.step.base_top[parent]
    known = dict(zip(top.ids, top.probs, strict=False))
    prob = f" ({probability(known[wanted])})" if wanted in known else ""
    return f"{_quoted(view.token(wanted))}{prob}"


def _held(view: StepView, row: int) -> str:
    step = view.step
    return (
        f"{_quoted(view.label(row))} had {probability(step.base_probs[row])}, "
        f"rank {count(step.base_ranks[row] + 1)}"
    )


def _sibling_taken(view: StepView, row: int) -> bool:
    parent = view.parents[row]
    return any(
        view.step.verdicts[other] == "accepted"
        for other, above in enumerate(view.parents)
        if above == parent
    )


def _outcome(view: StepView, row: int) -> str:
    if _sibling_taken(view, row):
        return "so a sibling was taken instead"
    return "so the path stops above it"


def _greedy(view: StepView, row: int, accepted: bool) -> str:
    if accepted:
        return (
            "It is the base model's own first choice there "
            f"({probability(view.step.base_probs[row])}), so greedy acceptance takes it."
        )
    return f"The base model wanted {_wanted(view, row)}; {_held(view, row)}, {_outcome(view, row)}."


def _sampled(view: StepView, row: int, accepted: bool) -> str:
    if accepted:
        return (
            "The token drawn from the base model's distribution is the same (it had "
            f"{probability(view.step.base_probs[row])}), so the path follows it."
        )
    return (
        f"The token drawn from the base model's distribution was {_wanted(view, row)}; "
        f"{_held(view, row)}, {_outcome(view, row)}."
    )


def _typical(view: StepView, row: int, accepted: bool) -> str:
    thresholds = view.step.thresholds
    bar = f" {probability(thresholds[row])}" if thresholds else " its threshold"
    held = probability(view.step.base_probs[row])
    if accepted:
        return f"The base model gives it {held}, above{bar}: typical acceptance takes it (lossy)."
    if thresholds and view.step.base_probs[row] > thresholds[row]:
        return f"The base model gives it {held}, above{bar}, but a longer or likelier path won."
    return f"The base model gives it {held}, not above{bar}, {_outcome(view, row)}."
