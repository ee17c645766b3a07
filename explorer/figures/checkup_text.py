"""What a checkup says in words: the run's facts and the findings, as rows of text."""

from __future__ import annotations

import re
from collections.abc import Sequence

from explorer.analysis.checkup import Checkup
from explorer.analysis.diagnosis_case import Finding

HEALTHY = "The doctor found none of the causes that it knows."


def facts_of(checkup: Checkup) -> list[tuple[str, str]]:
    """Name and value of each fact; no path is among them."""
    heads = checkup.heads
    share = heads.parameter_share
    rows = [
        ("Base model", last_part(checkup.model)),
        ("Backend, device", f"{checkup.backend}, {checkup.device}"),
        ("Heads", f"{last_part(heads.name)}: {heads.num_heads} × {heads.num_blocks} blocks, "
         f"{heads.architecture}, {heads.kind}"),
        ("Format", heads.format),
        ("Parameters", f"{heads.parameters / 1e6:.1f} M"
         + (f", {share:.1%} of the base model's" if share is not None else "")),
        ("Bytes read per step", f"{heads.bytes / 1e6:.1f} MB, {heads.byte_share:.1%} of a one-row "
         "pass"),
        ("Trained for", last_part(heads.trained_for) or "not said"),
        ("Plain", f"{checkup.plain_tokens_per_second:.1f} tokens/s"),
        (checkup.method.capitalize(), f"{checkup.tokens_per_second:.1f} tokens/s, "
         f"{checkup.ledger.tokens_per_step:.2f} tokens per step"),
        ("Same text as plain", f"{checkup.identical} of {checkup.prompts} prompts"),
    ]  # fmt: skip
    if checkup.trust is not None:
        rows.append(("Counted by auto", f"{checkup.trust:.2f} of the chances that the heads name"))
    rows += [("config.json", difference) for difference in heads.differences]
    published = heads.published.get("top1")
    if published:
        measured = ", ".join(f"{head.top[1]:.3f}" for head in checkup.accuracy.heads)
        top1 = ", ".join(f"{value:.3f}" for value in published)
        rows.append(("Top-1 by head", f"{measured} here; {top1} on {heads.trained_on}, by the "
                     "heads' config.json"))  # fmt: skip
    return rows


def findings_of(findings: Sequence[Finding]) -> list[tuple[str, str, str, str]]:
    """Title, cost in words, evidence and remedy of each finding."""
    return [(found.title, _costs(found), found.evidence, found.remedy) for found in findings]


def _costs(found: Finding) -> str:
    if not found.costs:
        return "costs no speed"
    return f"without it about {1 + found.costs:.2f} times as fast, an estimate"


def last_part(name: str) -> str:
    """The last part of what may be a path or a Hub id."""
    return re.split(r"[/\\]", name.rstrip("/\\"))[-1]
