"""One request of a server as its steps, for the browser: what each accepted, and what it wrote."""

from __future__ import annotations

from collections.abc import Sequence

from explorer.records.serving import Answer
from explorer.ui.compare_session import encoded

NOTHING = "No request yet."
NO_STEPS = (
    "This server does not report what each step accepted: vLLM does with "
    "--per-request-spec-decode-metrics detailed."
)
LONGEST = 60  # characters of a prompt in the list


def choices(answers: Sequence[Answer]) -> list[tuple[str, int]]:
    """The requests to choose from, with their places."""
    return [
        (f"{number + 1}: {answer.prompt[:LONGEST]}", number)
        for number, answer in enumerate(answers)
    ]


def steps_message(answer: Answer | None) -> str:
    """What assets/serving/main.js draws.

    A step is [accepted drafts, tokens, text]. The first arrival is the token that the prompt's own
    pass gave; each further one is a step, unless the server joined some.
    """
    if answer is None:
        return encoded({"note": NOTHING, "first": "", "steps": [], "drafts": 0})
    if not answer.accepted:
        note = answer.problem or NO_STEPS
        return encoded({"note": note, "first": answer.text, "steps": [], "drafts": 0})
    matched = len(answer.pieces) == len(answer.accepted) + 1
    pieces = answer.pieces[1:] if matched else [""] * len(answer.accepted)
    lengths = [len(ids) for ids in answer.token_ids[1:]] if matched and answer.token_ids else None
    tokens = lengths or [1 + accepted for accepted in answer.accepted]
    steps = zip(answer.accepted, tokens, pieces, strict=True)
    drafts = len(answer.speculation.accepted_at) if answer.speculation else max(answer.accepted)
    first = answer.pieces[0] if matched else answer.text
    return encoded({"note": "", "first": first, "steps": list(steps), "drafts": drafts})
