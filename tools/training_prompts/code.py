"""Coding prompts: a task, a signature and examples whose results are computed, never typed."""

import itertools
import math
import random
import statistics
from dataclasses import dataclass
from os import path
from pathlib import Path

from training_prompts.grammar import Deck, Grammar, read_lines, read_slots

NAMES = {  # what a parameter may be called, and its type
    "numbers": (["numbers", "nums", "values", "lst", "data"], "list[int]"),
    "numbers2": (["others", "second", "b_list"], "list[int]"),
    "words": (["words", "strings", "names", "lines"], "list[str]"),
    "text": (["text", "sentence", "s", "txt"], "str"),
    "word": (["word", "s", "string"], "str"),
    "word2": (["other", "t", "second"], "str"),
    "letter": (["letter", "ch", "char"], "str"),
    "n": (["n", "limit", "number", "value"], "int"),
    "k": (["k", "size", "count", "step"], "int"),
    "matrix": (["matrix", "grid", "rows"], "list[list[int]]"),
    "prices": (["prices", "table", "mapping", "d"], "dict[str, int]"),
}
LIBRARIES = {"itertools": itertools, "math": math, "path": path, "statistics": statistics}
OTHER_SHARE = 0.25  # of the coding prompts are not about a single function


@dataclass(frozen=True)
class Task:
    """One line of code_tasks.txt."""

    name: str
    parameters: list[str]
    description: str
    expression: str


def read_tasks(file: Path) -> list[Task]:
    """Return the tasks of a file of ``name | parameters | description | expression`` lines."""
    rows = [[part.strip() for part in line.split(" | ", 3)] for line in read_lines(file)]
    return [Task(name, params.split(", "), what, how) for name, params, what, how in rows]


class Arguments:
    """Draws random arguments by the kinds of the parameters."""

    def __init__(self, vocabulary: list[str], rng: random.Random):
        self._vocabulary, self._rng = vocabulary, rng

    def draw(self, kinds: list[str]) -> dict[str, object]:
        """Return a value for each kind."""
        rng, words = self._rng, self._vocabulary
        alone = len(kinds) == 1  # a limit for a list or a text has to be near its values
        makers = {
            "numbers": lambda: [*rng.sample(range(30), 3), rng.randrange(9), rng.randrange(9)],
            "numbers2": lambda: rng.sample(range(20), 4),
            "words": lambda: rng.sample(words, rng.randrange(3, 6)),
            "text": lambda: " ".join(rng.sample(words, rng.randrange(2, 5))),
            "word": lambda: rng.choice(words),
            "word2": lambda: rng.choice(words),
            "letter": lambda: rng.choice("aeinrst"),
            "n": lambda: rng.randrange(2, 130 if alone else 26),
            "k": lambda: rng.randrange(2, 8),
            "matrix": lambda: [rng.sample(range(10), 3) for _ in range(3)],
            "prices": lambda: {word: rng.randrange(1, 40) for word in rng.sample(words, 3)},
        }
        return {kind: makers[kind]() for kind in kinds}


class CodePrompts:
    """Makes coding prompts from tasks, ways of asking and random arguments."""

    def __init__(self, data: Path, grammar: Grammar, rng: random.Random):
        self._grammar, self._rng = grammar, rng
        self._tasks = Deck(read_tasks(data / "code_tasks.txt"), rng)
        self._orders = Deck(read_lines(data / "code_prompts.txt"), rng)
        self._others = Deck(read_lines(data / "code_other.txt"), rng)
        self._arguments = Arguments(read_slots(data / "slots.txt")["code_word"], rng)

    def make(self) -> str:
        """Return one prompt."""
        if self._rng.random() < OTHER_SHARE:
            return self._grammar.fill(self._others.deal())
        return self._ask(self._tasks.deal(), self._orders.deal())

    def _ask(self, task: Task, order: str) -> str:
        names = {kind: self._rng.choice(NAMES[kind][0]) for kind in task.parameters}
        if len(set(names.values())) < len(names):
            names = {kind: kind for kind in task.parameters}
        what = task.description
        for kind, name in names.items():
            what = what.replace("{" + kind + "}", name)
        [(call, result)] = self._examples(task, 1)
        parts = {
            "name": task.name,
            "task": what,
            "signature": f"{task.name}({', '.join(names.values())})",
            "example": f"{self._rng.choice(['For example,', 'Example:', 'E.g.'])} {call} "
            f"{self._rng.choice(['returns', 'should return', '->', 'gives'])} {result}.",
            "stub": self._stub(task, names, what),
        }
        text = self._grammar.fill(_hide(order, parts))
        for key, value in parts.items():
            text = text.replace(f"\0{key}\0", value)
        return text

    def _examples(self, task: Task, count: int) -> list[tuple[str, str]]:
        """Return calls and their results, as many different results as a few tries give."""
        found: dict[str, str] = {}
        for _ in range(count * 8):
            values = self._arguments.draw(task.parameters)
            # The expressions are this repository's own data.
            result = repr(eval(task.expression, {**LIBRARIES, **values}))
            found.setdefault(result, f"{task.name}({', '.join(map(repr, values.values()))})")
        return [(call, result) for result, call in found.items()][:count]

    def _stub(self, task: Task, names: dict[str, str], what: str) -> str:
        rng = self._rng
        typed = rng.random() < 0.5
        parameters = ", ".join(
            f"{name}: {NAMES[kind][1]}" if typed else name for kind, name in names.items()
        )
        quotes = rng.choice(['"""', '"""', "'''"])
        examples = self._examples(task, rng.choice([0, 1, 2, 2, 3, 3, 4]))
        if rng.random() < 0.6:
            lines = [line for call, result in examples for line in (f">>> {call}", result)]
        else:
            arrow = rng.choice(["->", "=>", "==", "returns"])
            lines = [f"{call} {arrow} {result}" for call, result in examples]
            lines = ["", rng.choice(["Examples:", "For example:"]), *lines] if lines else []
        body = [what[0].upper() + what[1:] + ".", *lines]
        doc = "\n".join(f"    {line}".rstrip() for line in body).lstrip()
        return f"def {task.name}({parameters}):\n    {quotes}{doc}\n    {quotes}"


def _hide(order: str, parts: dict[str, str]) -> str:
    """Return an order whose own slots are out of the grammar's sight."""
    for key in parts:
        order = order.replace("{" + key + "}", f"\0{key}\0")
    return order
