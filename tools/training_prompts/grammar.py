"""Fill templates: slots, inline choices, numbers and sums of products.

``{animal}`` a value of the slot ``animal``; ``{animal#2}`` another one, the same wherever
``#2`` stands in this prompt. ``{?a|b|}`` one of the choices. ``{2-9}`` a number, ``{5-90/5}``
in steps of five, ``{x:2-9}`` a number with a name, ``{!x:2-9}`` the same, not printed,
``{=x*12-3}`` reckoned from named numbers (they may come later). ``a(n)`` becomes "a" or "an", and
``⟨`` and ``⟩`` become braces. Inner braces are filled first.
"""

import random
import re
from pathlib import Path
from typing import Generic, TypeVar

Item = TypeVar("Item")

_INNERMOST = re.compile(r"\{([^{}]*)\}")
_NOT_SUM = re.compile(r"\{(?!=)([^{}]*)\}")
_NUMBER = re.compile(r"(!)?(?:(\w+):)?(\d+)-(\d+)(?:/(\d+))?")
_ARTICLE = re.compile(r"\b([Aa])\(n\)(?= [\"'*]?(\w))")


class Deck(Generic[Item]):
    """Deals the items of a list in random order, and again once all are dealt."""

    def __init__(self, items: list[Item], rng: random.Random):
        self._items, self._rng = items, rng
        self._left: list[Item] = []

    def deal(self) -> Item:
        """Return the next item."""
        if not self._left:
            self._left = self._rng.sample(self._items, len(self._items))
        return self._left.pop()


class Grammar:
    """Fills templates from named slots; every slot is a deck, so all its values get used."""

    def __init__(self, slots: dict[str, list[str]], rng: random.Random):
        self._decks = {name: Deck(values, rng) for name, values in slots.items()}
        self._rng = rng

    def fill(self, template: str) -> str:
        """Return the template with every brace filled; KeyError for an unknown slot."""
        bound: dict[str, str] = {}
        text = template.replace("\\n", "\n")
        while "{" in text:
            # Sums wait, so that they may stand before the numbers that they use.
            pattern = _NOT_SUM if _NOT_SUM.search(text) else _INNERMOST
            text = pattern.sub(lambda match: self._value(match[1], bound), text)
        text = re.sub(r"(?<=\S)  +", " ", _ARTICLE.sub(_article, text)).strip()
        return text.replace("⟨", "{").replace("⟩", "}")

    def _value(self, key: str, bound: dict[str, str]) -> str:
        if key.startswith("?"):
            return self._rng.choice(key[1:].split("|"))
        if key.startswith("="):
            return str(_sum_of_products(key[1:], bound))
        if number := _NUMBER.fullmatch(key):
            hidden, name, low, high, step = number.groups()
            value = str(self._rng.randrange(int(low), int(high) + 1, int(step or 1)))
            value = bound.setdefault(name, value) if name else value
            return "" if hidden else value
        return self._slot(key, bound)

    def _slot(self, key: str, bound: dict[str, str]) -> str:
        if key in bound:
            return bound[key]
        slot = key.partition("#")[0]
        value = self._decks[slot].deal()
        while any(other.partition("#")[0] == slot and bound[other] == value for other in bound):
            value = self._decks[slot].deal()
        bound[key] = value
        return value


def _article(match: re.Match[str]) -> str:
    return match[1] + ("n" if match[2].lower() in "aeiou" else "")


def _sum_of_products(expression: str, bound: dict[str, str]) -> int:
    total = 0
    for term in expression.replace("-", "+-1*").split("+"):
        product = 1
        for factor in term.split("*"):
            product *= int(bound.get(factor, factor))
        total += product
    return total


def read_lines(path: Path) -> list[str]:
    """Return the lines of a data file, without blank ones and ``#`` comments."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line.strip() and not line.startswith("#")]


def read_slots(path: Path) -> dict[str, list[str]]:
    """Return the slots of a file of ``name: value | value`` lines."""
    slots: dict[str, list[str]] = {}
    for line in read_lines(path):
        name, _, values = line.partition(":")
        slots.setdefault(name.strip(), []).extend(value.strip() for value in values.split(" | "))
    return slots
