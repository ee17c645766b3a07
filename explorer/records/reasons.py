"""Why a node was accepted or not, and what a step did, as codes of the record.

They follow from the step's record and the run's settings, so the words are never those of another
rule or method. Their sentences stand in records/sentences.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from explorer.records.methods import METHODS
from explorer.records.schema import Settings, TreeShape
from explorer.records.settings import DecodeSettings
from explorer.records.step import Step

Judge = Callable[[int, int, bool], str]


def with_reasons(step: Step, tree: TreeShape, settings: Settings | DecodeSettings) -> Step:
    """The step with the codes of its nodes and of its seven sentences."""
    codes = {
        "reasons": node_codes(step, tree.parents, settings),
        "stages": step_codes(step, tree.paths, settings),
    }
    return step.model_copy(update=codes)


def node_codes(
    step: Step, parents: Sequence[int], settings: Settings | DecodeSettings
) -> list[str]:
    """The code of every row, given the row of each row's parent."""
    if step.ended_the_run:
        return ["root-last"]
    judge = _judge(step, settings)
    taken = {parents[row] for row in step.accepted[1:]}
    unwritten = set(step.accepted[len(step.emitted) :])
    codes = ["root"]
    for row in range(1, len(step.token_ids)):
        judged = judge(row, parents[row], parents[row] in taken)
        codes.append("past-end" if row in unwritten else judged)
    return codes


def _judge(step: Step, settings: Settings | DecodeSettings) -> Judge:
    """The code of a row, given its parent's row and whether one of its siblings was accepted."""
    if step.trials is not None:
        return _by_trial(step, {trial.row for trial in step.trials})
    if step.thresholds is not None:
        return _by_bar(step, step.thresholds)
    if settings.temperature > 0 and _draws(settings):  # of a trace that does not say how
        return lambda row, parent, taken: step.verdicts[row]
    return _by_choice(step, "greedy" if settings.temperature == 0 else "draw")


def _draws(settings: Settings | DecodeSettings) -> bool:
    """Whether the run's candidates are draws above temperature 0."""
    own = METHODS.get(settings.method)
    drawn = getattr(settings, "candidates", "top") == "drawn"
    return own is not None and (own.draft_model or (drawn and own.heeds("candidates")))


def _by_choice(step: Step, rule: str) -> Judge:
    """Of a rule that follows the child that holds the token wanted."""
    path = set(step.accepted)

    def code(row: int, parent: int, taken: bool) -> str:
        if parent not in path:
            return "below"
        return rule if row in path else f"{rule}-{'sibling' if taken else 'end'}"

    return code


def _by_trial(step: Step, tried: set[int]) -> Judge:
    """Of rejection sampling."""
    path, last = set(step.accepted), max(tried, default=0)

    def code(row: int, parent: int, taken: bool) -> str:
        if parent not in path:
            return "below"
        if row in path:
            return "trial"
        if row in tried:
            return "trial-end" if row == last else "trial-sibling"
        return "untried" if taken else "filling"

    return code


def _by_bar(step: Step, thresholds: Sequence[float]) -> Judge:
    """Of typical acceptance, which judges every node whose parent was above its bar."""
    path, standing = set(step.accepted), {0}

    def code(row: int, parent: int, taken: bool) -> str:
        if parent not in standing:
            return "below"
        if row in path or step.base_probs[row] > thresholds[row]:
            standing.add(row)
            return "typical" if row in path else "typical-lost"
        if parent not in path:
            return "typical-lost-end"
        return "typical-sibling" if taken else "typical-end"

    return code


def step_codes(
    step: Step, paths: Sequence[Sequence[int]], settings: Settings | DecodeSettings
) -> list[str]:
    """The codes of the step's sentence and of its stages draft, tree, mask, verify, accept and
    commit, given the rank paths of its nodes."""
    draft = _draft_code(step, settings)
    if step.ended_the_run:
        last = ["mask-last", "verify-last", "accept-bare", "commit-last"]
        return ["step-last", draft, "tree-bare", *last]
    window = "-window" if step.extra_rows else ""
    if not paths:
        mask = f"mask{window or '-bare'}"
        return ["step-bare", draft, "tree-bare", mask, "verify", "accept-bare", "commit"]
    chain = all(len(path) + 1 == len(after) for path, after in pairwise(paths))
    accept = "accept" if len(step.accepted) > 1 else "accept-none"
    if step.trials is not None:
        accept = "accept-trials"
    tree = "tree-chain" if chain else "tree"
    cut = "-cut" if len(step.emitted) < len(step.accepted) else ""
    return [f"step{window}{cut}", draft, tree, f"mask{window}", "verify", accept, "commit"]


def _draft_code(step: Step, settings: Settings | DecodeSettings) -> str:
    if len(step.token_ids) == 1:
        return "draft-none" if step.price is None else "draft-unpaid"
    own = METHODS.get(settings.method)
    return f"{own.words if own else 'draft'}{'-drawn' if step.trials is not None else ''}"
