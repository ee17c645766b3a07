"""Why it is not faster: causes found in a measured run, ordered by what each costs.

A finding's `costs` is how much faster the run would be without that one cause, less 1: 0.3 is 30 %.
It is an estimate from the run's own ledger, from a replay, or from a short run with one setting
changed, as `evidence` says.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

from explorer.analysis.diagnosis_case import Case, Finding
from explorer.analysis.formulas import tree_speedup
from explorer.analysis.tree_lab import LARGEST, TreeLab
from explorer.analysis.tree_search import greedy_order, product_success
from explorer.records.rank_paths import RankPath

WORTH = 0.08  # a cause that costs less is not named: two runs differ by as much
REPEATED = 0.9  # of a head's guesses repeat the base model's own: the head is as it was made
CHANCE = 0.1  # below it, head 1 does not know this base model
DRIFTED = 0.75  # of the published accuracy; foreign prompts alone cost less
BUSY = 0.1  # share of a step that bookkeeping may take
# Share of a step that heads may take if they are large, their bytes over a pass's, and if not.
HEAVY, LARGE, TOO_LONG = 0.2, 0.15, 0.4
EXPECTED_TOP1 = (0.45, 0.29, 0.2, 0.15)  # of trained heads for which nothing is published
RANK_DECAY = 0.35  # from one rank to the next, where only the first is known


def diagnose(case: Case) -> list[Finding]:
    """The causes found, the dearest first; none for healthy heads well used."""
    found = [finding for check in CHECKS if (finding := check(case)) is not None]
    return sorted(found, key=lambda finding: -finding.costs)


def _tree(case: Case) -> Finding | None:
    if case.tree is None:
        return None
    lab = TreeLab(case.texts, case.curve, case.overhead)
    best, used = lab.best_shape(), lab.speedup(case.tree)
    if best is None:
        return None
    shape, speedup = best
    costs, larger = speedup / used - 1, len(case.tree) > len(shape)
    if costs < WORTH:
        return None
    n = len(case.tree) + 1
    return Finding(
        cause="tree-too-large" if larger else "tree-too-small",
        title=f"The tree is too {'large' if larger else 'small'} for this hardware",
        costs=costs,
        evidence=f"Its verify pass of {n} rows costs {case.curve.at(n):.2f} one-row passes; "
        f"replayed on the same texts, the tree reaches {used:.2f}× here, and a tree of "
        f"{len(shape)} nodes {speedup:.2f}×.",
        remedy="Use --tree auto or fixed, which go by this machine's measured costs, or this tree: "
        f"{_written(shape)}.",
    )


def _written(paths: Sequence[RankPath]) -> str:
    return str([list(path) for path in paths]).replace(" ", "")


def _untrained(case: Case) -> Finding | None:
    idle = [head.head for head in case.accuracy.heads if head.repeats >= REPEATED]
    if not idle:
        return None
    named = ", ".join(map(str, idle))
    share = min(case.accuracy.heads[k - 1].repeats for k in idle)
    return Finding(
        cause="heads-untrained",
        title=f"{'Heads' if len(idle) > 1 else 'Head'} {named} {_are(idle)} not trained",
        costs=_could_gain(case),
        evidence=f"In {share:.0%} of positions or more the first guess repeats what the base model "
        "says next, as a head does whose residual block is still zero; a trained head guesses "
        "the token after that.",
        remedy="Train them ('python -m explorer train heads'), or leave them out with --num-heads.",
    )


def _are(items: Sequence[int]) -> str:
    return "are" if len(items) > 1 else "is"


def _other_base(case: Case) -> Finding | None:
    first = case.accuracy.heads[0]
    if first.top[1] >= CHANCE or first.repeats >= REPEATED or _by_settings(case):
        return None
    trained = case.heads.trained_for
    named = f" They were made for {trained}; this is {case.heads.base_name}." if trained else ""
    return Finding(
        cause="heads-of-another-base",
        title="These heads do not know this base model",
        costs=_could_gain(case),
        evidence=f"Head 1's first guess is right at {first.top[1]:.1%} of positions; the default "
        f"model's own heads are at 41 % on prompts unlike their training.{named}",
        remedy="Load the heads that were trained for this very base model, or train some.",
    )


def _by_settings(case: Case) -> bool:
    """Whether a setting explains what the heads miss: without it they are right more often."""
    return any(probe.gain >= WORTH for probe in case.probes)


def _drifted(case: Case) -> Finding | None:
    published = case.heads.published.get("top1") or []
    first = case.accuracy.heads[0]
    if not published or first.top[1] < CHANCE or first.repeats >= REPEATED:
        return None
    if case.probes:  # what was published is of greedy replies in the chat template
        return None
    # Neighbouring positions are similar, so their number counts about half.
    error = (2 * first.top[1] * (1 - first.top[1]) / case.accuracy.positions) ** 0.5
    if first.top[1] + 2 * error >= DRIFTED * published[0]:
        return None
    requantised = case.heads.base_backend == "nf4" and case.heads.trained_backend != "nf4"
    says = f"Head 1 is right at {first.top[1]:.1%} here, and at {published[0]:.1%} by its maker"
    if requantised:
        return Finding(
            cause="base-quantised",
            title="Quantising has changed the base model's hidden states",
            costs=_could_gain(case),
            evidence=f"{says}, who trained on the backend {case.heads.trained_backend or 'bf16'}; "
            f"this run's {case.heads.base_backend} rounds the weights once more.",
            remedy="Run the backend that the heads were trained on, or train them on this one.",
        )
    return Finding(
        cause="foreign-text",
        title="The heads were trained on text that this base model does not write",
        costs=_could_gain(case),
        evidence=f"{says}, on {case.heads.trained_on or 'text of its own'}.",
        remedy="Train on replies that this base model itself writes to prompts like these "
        "('python -m explorer train data').",
    )


def _could_gain(case: Case) -> float:
    """What heads of the expected accuracy would gain over these, both with their best trees."""
    published = case.heads.published.get("top1") or EXPECTED_TOP1
    count = case.heads.num_heads
    top1 = [*published, *[published[-1]] * count][:count]
    accuracy = [[top * RANK_DECAY**rank for rank in range(10)] for top in top1]
    order = greedy_order(product_success(accuracy), LARGEST, count, len(accuracy[0]))
    totals = itertools.accumulate(scored.success for scored in order)
    could = max(
        tree_speedup(1 + total, case.curve.at(nodes + 1), case.overhead)
        for nodes, total in enumerate(totals, start=1)
    )
    return max(0.0, could / case.ledger.measured - 1)


def _probed(case: Case, setting: str, cause: str, title: str, remedy: str) -> Finding | None:
    probe = next((p for p in case.probes if p.setting == setting), None)
    if probe is None or probe.gain < WORTH:
        return None
    return Finding(
        cause=cause,
        title=title,
        costs=probe.gain,
        evidence=f"On the same prompts a step emits {probe.asked:.2f} tokens as asked for, and "
        f"{probe.changed:.2f} with {probe.changed_to}.",
        remedy=remedy,
    )


def _temperature(case: Case) -> Finding | None:
    return _probed(
        case, "temperature", "temperature-too-high", "The temperature is too high for the heads",
        "Lower the temperature, or draw candidates (--candidates drawn).",
    )  # fmt: skip


def _template(case: Case) -> Finding | None:
    return _probed(
        case, "raw_prompt", "chat-template", "The prompts lack the chat template of the training",
        "Leave out --raw, so that prompts come in the model's chat template.",
    )  # fmt: skip


def _if_fixed(case: Case, kind: str) -> float:
    """What the run would gain if a part of its time were free."""
    term = next(term for term in case.ledger.terms if term.kind == kind)
    return term.if_fixed / case.ledger.measured - 1


def _heavy(case: Case) -> Finding | None:
    share = case.shares.get("heads", 0.0)
    if share <= HEAVY or (case.heads.byte_share <= LARGE and share <= TOO_LONG):
        return None
    heavy = case.heads.projection_bytes > case.heads.bytes / 2
    return Finding(
        cause="heads-heavy",
        title="The heads' projection is too heavy"
        if heavy
        else "The heads take too much of a step",
        costs=_if_fixed(case, "heads"),
        evidence=f"Drafting takes {share:.0%} of a step; a draft reads "
        f"{case.heads.bytes / 1e6:.0f} MB, {case.heads.byte_share:.0%} of a one-row pass, "
        f"{case.heads.projection_bytes / 1e6:.0f} MB of it projections.",
        remedy="Let the heads choose between frequent tokens only (--heads-vocabulary 8192), or "
        "hold their projection in 4 bits (--heads-dtype nf4); the accuracies here then show what "
        "it costs. Heads that share one projection (the kind draft_vocab) have to be trained so."
        if heavy
        else "Use fewer heads (--num-heads) or fewer blocks.",
    )


def _overhead(case: Case) -> Finding | None:
    share = case.shares.get("bookkeeping", 0.0)
    if share <= BUSY:
        return None
    return Finding(
        cause="overhead",
        title="Too much of a step is spent outside the model",
        costs=_if_fixed(case, "bookkeeping"),
        evidence=f"Choosing, judging and committing take {share:.0%} of a step: launches and "
        "Python, as on a small model or with a large tree.",
        remedy="Use a smaller or a fixed tree, and keep other work off this machine.",
    )


def _ties(case: Case) -> Finding | None:
    if case.identical >= case.prompts:
        return None
    differ = case.prompts - case.identical
    why = "" if case.bit_exact else " This backend's rows change with the width of the pass."
    return Finding(
        cause="precision-ties",
        title="The text is not always that of plain decoding",
        costs=0.0,
        evidence=f"{differ} of {case.prompts} texts differ from plain decoding's.{why}",
        remedy="Run 'python -m explorer audit': it says whether the differences are ties of the "
        "two likeliest tokens. Where rows are the same bits in every pass, as in the int4 backend "
        "on a CPU, there are none.",
    )


CHECKS: tuple[Callable[[Case], Finding | None], ...] = (
    _tree,
    _untrained,
    _other_base,
    _drifted,
    _template,
    _temperature,
    _heavy,
    _overhead,
    _ties,
)
