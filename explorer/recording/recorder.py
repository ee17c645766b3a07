"""From a step's tensors to its trace record.

A record must be enough to redraw the step without the model, and cheap to make: it keeps, of a
row's 49,152 logits is its best five and the figures of the tokens in question.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime

import torch

from explorer.decoding.acceptance import Verdict
from explorer.decoding.drafter import Draft
from explorer.decoding.loop import Prefilled, StepResult
from explorer.decoding.sampling import distribution
from explorer.decoding.tree import Tree
from explorer.heads.heads import MedusaHeads
from explorer.kernels.lm_head import top_columns
from explorer.models.chat import TokenTexts
from explorer.recording.positions import DECIMALS, HeadPredictions, rounded, top_tokens
from explorer.records.events import PositionsRecorded, RunStarted, StepRecorded
from explorer.records.floor import StepFloor
from explorer.records.schema import (
    TOP_BASE,
    Header,
    Piece,
    Position,
    Step,
    Timings,
    TopTokens,
    TreeShape,
)
from explorer.records.settings import DecodeSettings


class Recorder:
    """Writes one run down.

    `floor` gives the floor of the method's steps at a context length, if it is known.
    """

    def __init__(
        self,
        pieces: TokenTexts,
        heads: MedusaHeads | None,
        settings: DecodeSettings,
        floor: Callable[[int], StepFloor] | None = None,
    ) -> None:
        self._pieces = pieces
        self._positions = HeadPredictions(heads)
        self._num_heads = heads.config.num_heads if heads else 0
        self._settings = settings
        self._floor = floor
        self._told: set[int] = set()
        self._trees: dict[tuple, int] = {}
        self._steps = 0
        self._root = (1.0, 0)  # probability and rank of the coming root
        self._last_choice = 0  # the base model's first choice where the coming root was chosen
        self._softmax: torch.Tensor | None = None

    def start(self, prefilled: Prefilled, header: dict) -> RunStarted:
        """The run's header: `header` holds the fields that only the lab knows."""
        self._remember_root(prefilled.logits, prefilled.root)
        position = self._positions.start(header["prompt_ids"], prefilled.hidden, self._last_choice)
        record = Header(
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            prompt_position=position,
            prefill_ms=prefilled.seconds * 1000,
            num_heads=self._num_heads,
            **header,
        )
        return RunStarted(header=record, pieces=self._new_pieces(record.prompt_ids, [position]))

    def step(self, result: StepResult) -> StepRecorded:
        """One step, with the pieces and trees that were not sent before."""
        begin = time.perf_counter()
        best = None if result.logits is None else _best(result.logits)
        positions = self._positions.step(result, self._last_choice, best)
        tree, trees = self._tree_index(result.draft.tree)
        rows = self._rows(result, best)
        milliseconds = {name: seconds * 1000 for name, seconds in result.laps.items()}
        offered = _offered(result.draft)
        new = self._new_pieces(
            [*rows["token_ids"], *(t for t in rows["choices"] if t >= 0), *_shown(result.draft)],
            [*positions],
            [*rows["base_top"], *(offered or ())],
        )
        record = 1000 * (time.perf_counter() - begin)
        step = Step(
            index=self._steps,
            context_length=result.context_length,
            tree=tree,
            emitted=result.emitted,
            positions=positions,
            timings=Timings(**milliseconds, record=record),
            floor=self._floor_of(result),
            draft_top=offered,
            price=result.draft.record.price,
            lookahead=result.draft.record.lookahead,
            **rows,
        )
        self._steps += 1
        return StepRecorded(step=step, pieces=new, trees=trees)

    def _floor_of(self, result: StepResult) -> StepFloor | None:
        passed = result.logits is not None
        return self._floor(result.context_length) if self._floor and passed else None

    def _distribution(self, logits: torch.Tensor) -> torch.Tensor:
        """The distribution that the rule draws from; at temperature 0 the softmax, for display."""
        if self._settings.temperature == 0:
            # Into the same memory every time: fresh pages for n × V numbers cost more than exp.
            if self._softmax is None or self._softmax.shape[0] < logits.shape[0]:
                self._softmax = torch.empty_like(logits)
            return torch.softmax(logits, dim=-1, out=self._softmax[: logits.shape[0]])
        return distribution(logits, self._settings)

    def _rows(self, result: StepResult, best: torch.Tensor | None) -> dict:
        """The row-wise fields of a step; best [n, 5]: columns of every row's largest logits."""
        draft, tree = result.draft, result.draft.tree
        root_prob, root_rank = self._root
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
        if result.verdict is None:
            return rows
        probs = self._distribution(result.logits)
        own, ranks = _figures_of_nodes(tree, draft.tokens, result.logits, probs, best)
        last = result.verdict.path[-1]
        self._remember(result.logits[last], result.verdict.bonus, probs[last], int(best[last, 0]))
        return rows | {
            "base_probs": [root_prob, *rounded(own)],
            "base_ranks": [root_rank, *ranks],
            "choices": result.verdict.choices,
            "thresholds": result.verdict.thresholds
            and [min(1.0, round(float(t), DECIMALS)) for t in result.verdict.thresholds],
            "verdicts": verdicts(tree, result.verdict),
            "base_top": top_tokens(best, probs.gather(1, best)),
            "accepted": result.verdict.path,
            "bonus": result.verdict.bonus,
            "bonus_prob": self._root[0],
        }

    def _remember_root(self, logits: torch.Tensor, root: int) -> None:
        """Keep the figures of a root from the logits [V] that chose it, until its step comes."""
        probs = self._distribution(logits[None])[0]
        self._remember(logits, root, probs, int(logits.argmax()))

    def _remember(self, logits: torch.Tensor, root: int, probs: torch.Tensor, choice: int) -> None:
        self._root = (rounded(probs[root]), int(torch.count_nonzero(logits > logits[root])))
        self._last_choice = choice

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
        return index, [TreeShape(name=tree.name, paths=[list(path) for path in tree.paths])]

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
        new = named - self._told
        self._told |= new
        return {token: self._pieces[token] for token in sorted(new)}


def _best(logits: torch.Tensor) -> torch.Tensor:
    """Columns of the largest logits of every row, best first: [n, V] -> [n, TOP_BASE]."""
    return top_columns(logits, min(TOP_BASE, logits.shape[1]))


def verdicts(tree: Tree, verdict: Verdict) -> list[str]:
    """Per row: root, accepted, rejected (its parent was accepted), or pruned with its parent."""
    path = set(verdict.path)
    named = ["root"]
    for row, parent in enumerate(tree.parents[1:].tolist(), start=1):
        if row in path:
            named.append("accepted")
        else:
            named.append("rejected" if parent in path else "pruned")
    return named


def _figures_of_nodes(
    tree: Tree, tokens: torch.Tensor, logits: torch.Tensor, probs: torch.Tensor, best: torch.Tensor
) -> tuple[torch.Tensor, list[int]]:
    """Probability and rank of every node's token at its parent's row: [n − 1] each.

    best [n, k] are the columns of every row's largest logits: most nodes are found among them,
    and only for the others a whole row has to be counted through.
    """
    parents, nodes = tree.parents[1:], tokens[1:].to(logits.device)
    own = logits[parents, nodes]
    above = (logits.gather(1, best)[parents] > own[:, None]).sum(dim=-1).tolist()
    ranks = [
        rank if rank < best.shape[1] else int(torch.count_nonzero(logits[parent] > own[node]))
        for node, (parent, rank) in enumerate(zip(parents.tolist(), above, strict=True))
    ]
    return probs[parents, nodes], ranks


def _offered(draft: Draft) -> list[TopTokens] | None:
    """The heads' guesses below each row, if they depend on the path."""
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
    """Tokens that a lookahead branch shows beside the tree's."""
    state = draft.record.lookahead
    return [] if state is None else [t for line in (*state.window, *state.guesses) for t in line]
