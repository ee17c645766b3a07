"""The exact distribution of what a method writes: every random choice is enumerated.

The product's own loop, drafters and rules run on models that look their logits up by the whole
prefix. In the place of random numbers stands an oracle that takes every outcome once, and knows
how probable each was.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from types import SimpleNamespace

import torch

from explorer.decoding import loop
from explorer.decoding.acceptance import Sample
from explorer.decoding.drafter import Context, Drafter
from explorer.decoding.sampling import distribution
from explorer.models.clock import HostStopwatch

LENGTH = 3
PROMPT = (1, 0, 1)
Texts = dict[tuple[int, ...], float]
SETTINGS = {
    "temperature 0.5": {"temperature": 0.5},
    "temperature 1": {"temperature": 1.0},
    "temperature 1.5, top-p": {"temperature": 1.5, "top_p": 0.8},
    "temperature 1, top-k": {"temperature": 1.0, "top_k": 2},
    "temperature 1.5, top-p, top-k": {"temperature": 1.5, "top_k": 3, "top_p": 0.9},
}


class Oracle:
    """Stands for explorer.decoding.sampling.Draws; `runs` goes through all outcomes."""

    def __init__(self) -> None:
        self._script: list[tuple[int, list[tuple[object, float]]]] = []
        self._at = 0
        self.probability = 1.0

    def runs(self) -> Iterator[None]:
        """One turn for every sequence of outcomes; `probability` is that of the turn."""
        while True:
            self._at, self.probability = 0, 1.0
            yield
            while self._script and self._script[-1][0] + 1 == len(self._script[-1][1]):
                self._script.pop()
            if not self._script:
                return
            taken, options = self._script[-1]
            self._script[-1] = (taken + 1, options)

    def __call__(self, probs: torch.Tensor, position: int, stream=()) -> int:
        total = float(probs.double().sum())
        return self._take([(i, p / total) for i, p in enumerate(probs.tolist()) if p > 0])

    def toss(self, probability: float, position: int, stream) -> float:
        options = [(0.0, probability), (1.0, 1 - probability)]
        return self._take([option for option in options if option[1] > 0])

    def _take(self, options):
        if self._at == len(self._script):
            self._script.append((0, options))
        value, probability = options[self._script[self._at][0]]
        self._at += 1
        self.probability *= probability
        return value


class TokenCache:
    """The tokens that a KV cache would stand for."""

    def __init__(self, tokens=()) -> None:
        self.tokens = list(tokens)
        self.rows: list[int] = []

    @property
    def length(self) -> int:
        return len(self.tokens)

    def commit(self, rows) -> None:
        self.tokens += [self.rows[row] for row in rows]

    def rewind(self, length: int) -> None:
        del self.tokens[length:]


class TableModel:
    """Logits [vocab] for every prefix, random and fixed by the seed. A hidden state is an index."""

    device = torch.device("cpu")
    context_length = 64
    eos_ids: frozenset[int] = frozenset()

    def __init__(self, vocab: int, seed: int, spread: float = 1.5) -> None:
        self.vocab_size = vocab
        self._seed, self._spread = seed, spread
        self._index: dict[tuple[int, ...], int] = {}
        self._logits: list[torch.Tensor] = []

    def hidden(self, prefix) -> torch.Tensor:
        prefix = tuple(prefix)
        if prefix not in self._index:
            self._index[prefix] = len(self._logits)
            source = torch.Generator().manual_seed(hash((self._seed, *prefix)) % 2**31)
            self._logits.append(torch.randn(self.vocab_size, generator=source) * self._spread)
        return torch.tensor([[self._index[prefix]]])

    def prefix(self, hidden: torch.Tensor) -> tuple[int, ...]:
        return list(self._index)[int(hidden)]

    def forward(self, tokens, offsets, mask, cache) -> torch.Tensor:
        cache.rows = rows = tokens.tolist()
        for row, sees in enumerate(mask.tolist()):  # a row sees one token a position: its path
            seen = [int(offsets[other]) for other in range(len(rows)) if sees[other]]
            assert seen == list(range(int(offsets[row]) + 1))
        return torch.cat(
            [
                self.hidden([*cache.tokens, *(t for t, s in zip(rows, sees, strict=True) if s)])
                for sees in mask.tolist()
            ]
        )

    def logits(self, hidden: torch.Tensor) -> torch.Tensor:
        return torch.stack([self._logits[i] for i in hidden[:, 0].tolist()])

    def stopwatch(self) -> HostStopwatch:
        """A clock for a step."""
        return HostStopwatch()


class TableHeads:
    """Heads over a TableModel: head k looks up what another table says after the prefix."""

    token_map = None

    def __init__(self, model: TableModel, num_heads: int, seed: int = 50) -> None:
        self._model = model
        self._tables = [TableModel(model.vocab_size, seed + k) for k in range(num_heads)]
        size = model.vocab_size
        self.config = SimpleNamespace(num_heads=num_heads, output_size=size, vocab_size=size)

    def __call__(self, hidden: torch.Tensor) -> torch.Tensor:
        prefix = self._model.prefix(hidden)
        return torch.stack([table.logits(table.hidden(prefix)) for table in self._tables])

    def draft_logits(self, hidden: torch.Tensor) -> torch.Tensor:
        """What candidates are drawn from: [K, m, V]."""
        return self(hidden)

    def propose(self, hidden: torch.Tensor, top: int):
        ids, probs = self.best(self(hidden), top)
        return ids.transpose(0, 1), probs.transpose(0, 1)

    def best(self, logits: torch.Tensor, top: int):
        """The likeliest tokens of logits [..., V] and their probabilities, best first."""
        best = torch.softmax(logits, dim=-1).topk(min(top, self._model.vocab_size))
        return best.indices, best.values


def plain_texts(model: TableModel, settings, length: int = LENGTH) -> Texts:
    """What plain sampling writes after PROMPT, by multiplying probabilities."""
    texts: Texts = {(): 1.0}
    for _ in range(length):
        texts = {
            (*text, token): p * q
            for text, p in texts.items()
            for token, q in enumerate(
                distribution(model.logits(model.hidden(PROMPT + text)), settings)[0].tolist()
            )
        }
    return texts


MakeDrafter = Callable[[Oracle], Drafter]
MakeRule = Callable[[Oracle], Sample]


def whole_runs(
    model: TableModel, make_drafter: MakeDrafter, make_rule: MakeRule, length: int = LENGTH
) -> Texts:
    """What `decode` writes, by running it once for every sequence of random outcomes."""
    oracle, texts = Oracle(), defaultdict(float)
    for _ in oracle.runs():
        items = loop.decode(model, make_drafter(oracle), make_rule(oracle), list(PROMPT), length)
        written = [t for item in items if isinstance(item, loop.StepResult) for t in item.emitted]
        texts[tuple(written)] += oracle.probability
    return texts


def by_steps(
    model: TableModel, make_drafter: MakeDrafter, make_rule: MakeRule, length: int = LENGTH
) -> Texts:
    """The same for drafters that keep nothing from step to step: each step is enumerated alone."""
    texts: Texts = defaultdict(float)
    waiting = _first_roots(model, make_rule)
    while waiting:
        text, p = waiting.popitem()
        left = length - len(text) + 1  # the root is the last token of `text`
        if left == 1:
            texts[text] += p
            continue
        for (emitted, bonus), q in _step(model, make_drafter, make_rule, text, left).items():
            longer = (*text, *emitted[1:])
            if len(longer) == length:
                texts[longer] += p * q
            else:
                waiting[(*longer, bonus)] = waiting.get((*longer, bonus), 0.0) + p * q
    return texts


def _first_roots(model: TableModel, make_rule: MakeRule) -> Texts:
    oracle, roots = Oracle(), defaultdict(float)
    for _ in oracle.runs():
        root = make_rule(oracle).first(model.logits(model.hidden(PROMPT))[0], len(PROMPT))
        roots[(root,)] += oracle.probability
    return roots


def _step(model, make_drafter, make_rule, text, left) -> dict[tuple, float]:
    oracle, outcomes = Oracle(), defaultdict(float)
    before = [*PROMPT, *text[:-1]]
    context = Context(text[-1], model.hidden(before), [*PROMPT, *text], left - 1)
    for _ in oracle.runs():
        drafter, rule, cache = make_drafter(oracle), make_rule(oracle), TokenCache(before)
        result = loop.step(model, drafter, rule, cache, context, HostStopwatch())
        outcomes[tuple(result.emitted), result.verdict.bonus] += oracle.probability
    return outcomes


def total_variation(a: Texts, b: Texts) -> float:
    """Half the sum of |differences|: 0 for equal distributions, 1 for disjoint ones."""
    return sum(abs(a.get(text, 0.0) - b.get(text, 0.0)) for text in {*a, *b}) / 2
