"""Prompts to start from: some that heads guess well, some that they do not."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Example:
    """A prompt with a short name, and what to watch for."""

    name: str
    prompt: str
    hint: str


EXAMPLES = (
    Example(
        "code",
        "Write a Python function that checks whether a number is prime. Then show how to call it.",
        "Code repeats itself: long accepted paths.",
    ),
    Example(
        "JSON",
        "Write a JSON list of three books. Each book has the keys title, author, year and genre.",
        "Brackets and keys are easy to guess, the values are not.",
    ),
    Example(
        "explanation",
        "Explain what a binary search is, with a Python example.",
        "Prose and code in one answer.",
    ),
    Example(
        "story",
        "Tell a short story about a lighthouse keeper who finds a letter in a bottle.",
        "Free text is hard to guess: many rejected nodes.",
    ),
    Example(
        "translation",
        "Translate into French: The weather is beautiful today, and we are going to the market.",
        "A small model, and a language that it knows less well.",
    ),
    Example(
        "list",
        "List the days of the week, then the months of the year, each on its own line.",
        "Well-known sequences: the heads see far ahead.",
    ),
)
