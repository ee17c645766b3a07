"""A run that no model made: realistic events from a seed."""

from __future__ import annotations

import itertools
import math
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from explorer.records.continuation import Continuation
from explorer.records.events import Event, RunStarted, StepRecorded
from explorer.records.floor import StepFloor
from explorer.records.methods import METHODS, PLAIN
from explorer.records.piece import Piece
from explorer.records.reasons import with_reasons
from explorer.records.schema import Header, Settings, Shown, TreeShape
from explorer.records.settings import DecodeSettings
from explorer.records.step import Position, Step, Timings, TopTokens, Verdict

EOS = "<|im_end|>"
PROMPT = 30  # tokens
OTHERS = [" the", " of", " quick", "\n", " fox", " מלך", "<b>", "\u200b", " search", ")", " and"]


def cartesian(widths: Sequence[int]) -> list[list[int]]:
    """Rank paths of a full tree."""
    return [
        list(path)
        for depth in range(1, len(widths) + 1)
        for path in itertools.product(*map(range, widths[:depth]))
    ]


def sparse(nodes: int) -> list[list[int]]:
    """The likeliest rank paths if a guess of rank r at depth d is right with 0.6·0.9^d/(r + 1)."""
    chance = {
        tuple(path): math.prod(0.6 * 0.9**d / (r + 1) for d, r in enumerate(path))
        for path in cartesian([8, 5, 4, 3])
    }
    best = sorted(chance, key=chance.__getitem__, reverse=True)[:nodes]
    return [list(path) for path in sorted(best, key=lambda path: (len(path), path))]


SHAPES = [
    TreeShape(name="root", paths=[]),
    TreeShape(name="cartesian:2,2", paths=cartesian([2, 2])),
    TreeShape(name="chain:3", paths=cartesian([1, 1, 1])),
    TreeShape(name="wide", paths=cartesian([4, 3, 2, 1])),
    TreeShape(name="sparse", paths=sparse(63)),
    TreeShape(name="huge", paths=cartesian([4, 4, 4, 3])),
]
SMALL, CHAIN, WIDE, SPARSE, HUGE = 1, 2, 3, 4, 5  # of SHAPES


@dataclass
class Vocabulary:
    """Token ids in the order of first use."""

    pieces: dict[int, Piece] = field(default_factory=dict)
    ids: dict[tuple[str | None, str | None], int] = field(default_factory=dict)

    def add(self, piece: Piece) -> int:
        """The id of a piece."""
        key = (piece.text, piece.bytes)
        if key not in self.ids:
            self.ids[key] = len(self.ids) + 10
            self.pieces[self.ids[key]] = piece
        return self.ids[key]

    def tokens(self, text: str) -> list[int]:
        """Token ids of a text; a character beyond the BMP becomes two pieces of two bytes."""
        out = []
        for part in re.findall(r"[^\W\d_]+| ?[^\W\d_]+|\d|\s|[^\w\s]|_", text):
            if ord(part[0]) > 0xFFFF:
                raw = part.encode()
                out += [self.add(Piece(text=None, bytes=half.hex())) for half in (raw[:2], raw[2:])]
            else:
                out.append(self.add(Piece(text=part)))
        return out


def scripted_lane(
    text: str,
    shapes: Sequence[int],
    prompt: str,
    settings: DecodeSettings,
    before: Continuation | None,
) -> Iterator[Event]:
    """The lane of one method that writes `text`, with the trees SHAPES[s] of `shapes` in turn."""
    words, rng = Vocabulary(), random.Random(settings.seed)
    target = words.tokens(text)[before.continued_tokens if before else 0 :]
    target = target[: settings.max_new_tokens]
    eos = words.add(Piece(text=EOS))
    if "endless" not in prompt:
        target = [*target[: settings.max_new_tokens - 1], eos]
    for other in OTHERS:
        words.add(Piece(text=other))
    header = _header(prompt, settings, eos, words, rng)
    if before:
        ids = {"prompt_ids": before.ids, "continued_tokens": before.continued_tokens}
        header = header.model_copy(update=ids)
    yield RunStarted(header=header, pieces=words.pieces)
    at, prefix = 0, len(header.prompt_ids)
    for index in itertools.count():
        if at >= len(target):
            return
        step = _step(index, at, prefix, target, shapes[index % len(shapes)], words, rng)
        step = with_reasons(step, SHAPES[step.tree], settings)
        yield StepRecorded(step=step, trees=SHAPES if index == 0 else [])
        at += len(step.emitted)


def _step(
    index: int,
    at: int,
    prefix: int,
    target: list[int],
    shape: int,
    words: Vocabulary,
    rng: random.Random,
) -> Step:
    left = len(target) - at
    ends = left == 1  # with its root, so that no pass is needed
    drafts = shape > 0
    if ends:
        shape = 0
    tree = SHAPES[shape]
    parents = tree.parents
    known = list(words.pieces)
    accepted, tokens = _guesses(tree, target[at:], known, rng)
    verdicts = _verdicts(parents, accepted)
    n = len(parents)
    emitted = target[at : at + len(accepted)]
    bonus = target[at + len(accepted)] if at + len(accepted) < len(target) else None
    draft = [1.0] + [round(rng.uniform(0.05, 0.8), 4) for _ in range(n - 1)]
    joint = [1.0]
    for row in range(1, n):
        joint.append(round(joint[parents[row]] * draft[row], 6))
    choices = _choices(parents, accepted, tokens, bonus, known, rng)
    return Step(
        index=index,
        context_length=prefix + at,
        tree=shape,
        token_ids=tokens,
        draft_probs=draft,
        joint_probs=joint,
        base_probs=[1.0] + [round(rng.uniform(0.01, 0.9), 4) for _ in range(n - 1)],
        base_ranks=[0 if row in accepted else rng.randrange(1, 40) for row in range(n)],
        choices=[] if ends else choices,
        verdicts=verdicts,
        base_top=[] if ends else [_top(choices[row], known, rng) for row in range(n)],
        accepted=accepted,
        emitted=emitted,
        bonus=bonus,
        bonus_prob=None if ends else 0.61,
        positions=[
            _position(prefix + at + i, token, known, rng)
            for i, token in enumerate(emitted if drafts else ())
        ],
        timings=_timings(drafts, ends, rng),
        floor=None if ends else StepFloor(bytes=104_000_000 + at, milliseconds=5.25),
    )


def _guesses(
    tree: TreeShape, target: list[int], known: list[int], rng: random.Random
) -> tuple[list[int], list[int]]:
    """The accepted rows and the tokens of all rows of a step that goes on with `target`."""
    accepted, tokens = [0], [target[0]]
    take = min(rng.choice([0, 0, 1, 1, 2, 3]), len(target) - 1)
    for row in range(1, len(tree.parents)):
        depth = tree.depths[row]
        if accepted[-1] == tree.parents[row] and depth <= take and rng.random() < 0.8:
            accepted.append(row)
            tokens.append(target[depth])
        else:
            tokens.append(rng.choice(known))
    return accepted, tokens


def _verdicts(parents: list[int], accepted: list[int]) -> list[Verdict]:
    verdicts: list[Verdict] = ["root"]
    for row in range(1, len(parents)):
        above = verdicts[parents[row]]
        judged = "accepted" if row in accepted else "rejected"
        verdicts.append(judged if above in ("root", "accepted") else "pruned")
    return verdicts


def _choices(
    parents: list[int],
    accepted: list[int],
    tokens: list[int],
    bonus: int | None,
    known: list[int],
    rng: random.Random,
) -> list[int]:
    """The base model's own token after every row."""
    choices = [bonus if row == accepted[-1] else rng.choice(known) for row in range(len(parents))]
    for row in accepted[1:]:
        choices[parents[row]] = tokens[row]
    return [choice if choice is not None else known[0] for choice in choices]


def _timings(drafts: bool, ends: bool, rng: random.Random) -> Timings:
    if ends:
        return Timings(draft=0.02, record=1.0)
    heads = {"heads": 2.1, "draft": rng.uniform(0.3, 0.6)} if drafts else {}
    verify = rng.uniform(24, 30) if drafts else rng.uniform(18, 23)
    return Timings(**heads, verify=verify, accept=0.2, commit=0.4, record=1.0)


def _top(first: int, known: list[int], rng: random.Random) -> TopTokens:
    others = rng.sample([token for token in known if token != first], 4)
    return TopTokens(ids=[first, *others], probs=[0.62, 0.11, 0.08, 0.03, 0.004])


def _position(index: int, base: int, known: list[int], rng: random.Random) -> Position:
    return Position(
        index=index, base_choice=base, heads=[_top(rng.choice(known), known, rng) for _ in range(4)]
    )


def _header(
    prompt: str, settings: DecodeSettings, eos: int, words: Vocabulary, rng: random.Random
) -> Header:
    drafts = settings.method != PLAIN
    position = _position(PROMPT - 1, next(iter(words.pieces)), list(words.pieces), rng)
    return Header(
        created="2026-01-02T03:04:05Z",
        explorer_version="0.1.0",
        model="SmolLM2-135M",
        heads="default" if drafts else None,
        num_heads=4 if drafts else 0,
        backend="int4",
        device="cpu",
        versions={"python": "3"},
        settings=Settings(**settings.model_dump() | {"acceptance": settings.rule}),
        shown=Shown(title=METHODS[settings.method].title, drafter=METHODS[settings.method].drafter),
        prompt=prompt,
        prompt_ids=list(itertools.islice(itertools.cycle(words.pieces), PROMPT)),
        prompt_position=position if drafts else None,
        prefill_ms=20.0,
        eos_ids=[eos],
    )
