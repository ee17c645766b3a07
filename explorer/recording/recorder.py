"""From a step's snapshot to its record, which is enough to redraw the step without the model."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime

import torch

from explorer.decoding.acceptance import Verdict
from explorer.decoding.drafter import Draft
from explorer.decoding.loop import Prefilled
from explorer.decoding.tree import Tree
from explorer.heads.heads import MedusaHeads
from explorer.models.chat import TokenTexts
from explorer.recording.positions import DECIMALS, HeadPredictions, rounded, top_tokens
from explorer.recording.snapshot import Snapshot, root_figures
from explorer.records.events import PositionsRecorded, RunStarted, StepRecorded
from explorer.records.floor import StepFloor
from explorer.records.piece import Piece
from explorer.records.reasons import with_reasons
from explorer.records.schema import Header, TreeShape
from explorer.records.settings import DecodeSettings
from explorer.records.step import TOP_BASE, Position, Step, Timings, TopTokens, Trial

SHARES = ("p", "q", "chance", "coin")  # of a trial


class Recorder:
    """Writes one run down.

    `floor` gives the floor of the method's steps at a context length and a number of rows, if it is
    known.
    """

    def __init__(
        self,
        pieces: TokenTexts,
        heads: MedusaHeads | None,
        settings: DecodeSettings,
        floor: Callable[[int, int], StepFloor] | None = None,
    ) -> None:
        self._pieces = pieces
        self._positions = HeadPredictions(heads)
        self._num_heads = heads.config.num_heads if heads else 0
        self._settings = settings
        self._floor = floor
        self._sent: set[int] = set()
        self._trees: dict[tuple, int] = {}
        self._shapes: list[TreeShape] = []
        self._steps = 0
        self._root = (1.0, 0)  # probability and rank of the coming root
        self._last_choice = 0  # the base model's first choice where the coming root was chosen

    def start(self, prefilled: Prefilled, header: dict) -> RunStarted:
        """The run's header: `header` holds the fields that only the lab knows."""
        figures, root = root_figures(prefilled, self._settings)
        self._remember_root(root, int(figures.ids[0, 0]))
        position = self._positions.start(header["prompt_ids"], prefilled.hidden, self._last_choice)
        record = Header(
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            prompt_position=position,
            prefill_ms=prefilled.seconds * 1000,
            num_heads=self._num_heads,
            **header,
        )
        return RunStarted(header=record, pieces=self._new_pieces(record.prompt_ids, [position]))

    def step(self, snapshot: Snapshot) -> StepRecorded:
        """One step, with the pieces and trees that were not sent before; in the run's order."""
        begin = time.perf_counter()
        draft = snapshot.draft
        positions = self._positions.step(snapshot, self._last_choice)
        tree, trees = self._tree_index(draft.tree)
        rows = self._rows(snapshot)
        milliseconds = {name: seconds * 1000 for name, seconds in snapshot.laps.items()}
        offered = _offered(draft)
        new = self._new_pieces(
            [*rows["token_ids"], *(t for t in rows["choices"] if t >= 0), *_shown(draft)],
            [*positions],
            [*rows["base_top"], *(offered or ()), *filter(None, [rows.get("residual")])],
        )
        record = 1000 * (snapshot.seconds + time.perf_counter() - begin)
        step = Step(
            index=self._steps,
            context_length=snapshot.context_length,
            tree=tree,
            emitted=snapshot.emitted,
            positions=positions,
            timings=Timings(**milliseconds, record=record),
            floor=self._floor_of(snapshot),
            draft_top=offered,
            lookahead=draft.record.lookahead,
            **_worth(draft, rows["joint_probs"]),
            **rows,
        )
        self._steps += 1
        step = with_reasons(step, self._shapes[tree], self._settings)
        return StepRecorded(step=step, pieces=new, trees=trees)

    def _floor_of(self, snapshot: Snapshot) -> StepFloor | None:
        if self._floor is None or snapshot.figures is None:
            return None
        return self._floor(snapshot.context_length, snapshot.draft.tree.n)

    def _rows(self, snapshot: Snapshot) -> dict:
        """The row-wise fields of a step."""
        draft, verdict, figures = snapshot.draft, snapshot.verdict, snapshot.figures
        tree, (root_prob, root_rank) = draft.tree, self._root
        joint = torch.where(tree.mask, draft.probs, 1.0).prod(dim=-1)
        rows = {
            "token_ids": draft.tokens.tolist(),
            "draft_probs": rounded(draft.probs),
            "joint_probs": rounded(joint),
            "base_probs": [root_prob],
            "base_ranks": [root_rank],
            "choices": [],
            "verdicts": ["root"],
            "base_top": [],
            "accepted": [0],
            "bonus": None,
            "bonus_prob": None,
        }
        if verdict is None:
            return rows
        self._remember_root(snapshot.bonus, int(figures.ids[verdict.path[-1], 0]))
        return rows | {
            "base_probs": [root_prob, *rounded(figures.asked_probs)],
            "base_ranks": [root_rank, *figures.asked_ranks.tolist()],
            "choices": verdict.choices,
            "thresholds": verdict.thresholds
            and [_share(threshold) for threshold in verdict.thresholds],
            "trials": _trials(verdict),
            "residual": snapshot.residual and top_tokens(*(t[None] for t in snapshot.residual))[0],
            "verdicts": verdicts(tree, verdict),
            "base_top": top_tokens(figures.ids, figures.probs),
            "accepted": verdict.path,
            "bonus": verdict.bonus,
            "bonus_prob": self._root[0],
        }

    def _remember_root(self, figures: tuple[float, int], choice: int) -> None:
        """Keep probability and rank of a root, and the base model's first choice there."""
        prob, self._last_choice = figures[0], choice
        self._root = min(1.0, round(prob, DECIMALS)), figures[1]

    def finish(self) -> PositionsRecorded | None:
        """The remaining records at the end of the lane; None if there are none."""
        left = self._positions.rest()
        return (
            PositionsRecorded(positions=left, pieces=self._new_pieces([], left)) if left else None
        )

    def _tree_index(self, tree: Tree) -> tuple[int, list[TreeShape]]:
        known = self._trees.get(tree.paths)
        if known is not None:
            return known, []
        self._trees[tree.paths] = index = len(self._trees)
        self._shapes.append(TreeShape(name=tree.name, paths=[list(path) for path in tree.paths]))
        return index, self._shapes[-1:]

    def _new_pieces(
        self,
        tokens: list[int],
        positions: list[Position | None],
        tops: list[TopTokens] | None = None,
    ) -> dict[int, Piece]:
        named = set(tokens)
        for position in positions:
            if position is not None:
                named.add(position.base_choice)
                named.update(*(head.ids for head in position.heads))
        named.update(*(top.ids for top in tops or ()))
        new = named - self._sent
        self._sent |= new
        return {token: self._pieces[token] for token in sorted(new)}


def verdicts(tree: Tree, verdict: Verdict) -> list[str]:
    """Per row: root, accepted, rejected (its parent was accepted), or pruned: never judged, because
    its parent was not accepted, or a sibling that was tried before it was."""
    path = set(verdict.path)
    tried = verdict.trials and {trial.row for trial in verdict.trials}
    named = ["root"]
    for row, parent in enumerate(tree.parents[1:].tolist(), start=1):
        if row in path:
            named.append("accepted")
        else:
            rejected = parent in path if tried is None else row in tried
            named.append("rejected" if rejected else "pruned")
    return named


def _trials(verdict: Verdict) -> list[Trial] | None:
    """The tried candidates as records."""
    if verdict.trials is None:
        return None
    return [
        Trial(row=one.row, **{name: _share(getattr(one, name)) for name in SHARES})
        for one in verdict.trials
    ]


def _share(value: float) -> float:
    """A probability as a short decimal."""
    return min(1.0, round(float(value), DECIMALS))


def _worth(draft: Draft, joint_probs: list[float]) -> dict[str, float]:
    """The price of the nodes of an `auto` tree, and what was expected of them."""
    if draft.record.worth is None:
        return {}
    price, trust = draft.record.worth
    return {"price": price, "promise": round(trust * sum(joint_probs[1:]), DECIMALS)}


def _offered(draft: Draft) -> list[TopTokens] | None:
    """The guesses below each row, if they depend on the path or were drawn."""
    below = draft.record.below
    if below is None:
        return None
    nothing = TopTokens(ids=[], probs=[])
    tops = [below.get(row) for row in range(draft.tree.n)]
    return [
        nothing
        if top is None
        else TopTokens(ids=top[0][:TOP_BASE].tolist(), probs=rounded(top[1][:TOP_BASE]))
        for top in tops
    ]


def _shown(draft: Draft) -> list[int]:
    """Tokens that a lookahead branch shows besides the tree's."""
    state = draft.record.lookahead
    return [] if state is None else [t for line in (*state.window, *state.guesses) for t in line]
