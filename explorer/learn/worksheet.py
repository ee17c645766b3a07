"""A sheet of questions to print, and their answers for the teacher's page: all computed."""

from __future__ import annotations

from dataclasses import dataclass

from explorer.analysis.formulas import (
    arithmetic_intensity,
    expected_tokens,
    idealised_speedup,
    pass_seconds,
    speedup_at_cost,
    weight_bytes,
)
from explorer.learn.chapter import Chapter
from explorer.learn.formats import count, ratio, significant, size
from explorer.learn.machines import GPUS
from explorer.learn.outline import TITLES

KEY = "worksheet"
WIDTHS = (2, 2, 1)


@dataclass(frozen=True)
class Question:
    """`lesson`: the key of the chapter in which the answer can be found. `lines`: to write on."""

    lesson: str
    ask: str
    answer: str
    lines: int = 1


def questions() -> list[Question]:
    """The sheet's questions, in the order of the tour."""
    return [*_memory(), *_drafting(), *_trees(), *_accepting()]


def _memory() -> list[Question]:
    card = next(gpu for gpu in GPUS if gpu.name == "RTX 4090")
    seconds = pass_seconds(7e9, 4, card.bandwidth, card.flops)
    return [
        Question(
            "memory_wall",
            "How many bytes are the weights of a 7B model in 16 bits, and in 4 bits?",
            f"{size(weight_bytes(7e9, 16))} and {size(weight_bytes(7e9, 4))}.",
        ),
        Question(
            "memory_wall",
            f"An {card.name} reads {size(card.bandwidth)} a second. How many tokens a second can "
            "plain decoding of the 4-bit model write at most?",
            f"{count(round(1 / seconds))}: one token takes {significant(1e3 * seconds)} ms.",
        ),
        Question(
            "memory_wall",
            "How many FLOP does a pass over one token do for each byte in 16 bits? And a pass over "
            "eight tokens?",
            f"{arithmetic_intensity(16):.0f} and {arithmetic_intensity(16, 8):.0f}.",
        ),
    ]


def _drafting() -> list[Question]:
    alpha, drafts, cost = 0.5, 2, 0.1
    return [
        Question(
            "draft_and_verify",
            f"{drafts} drafts a step, each right with probability {alpha}: how many tokens does a "
            "step write on average?",
            f"{ratio(expected_tokens(alpha, drafts))}: the base model's own token, and "
            f"{ratio(expected_tokens(alpha, drafts) - 1)} accepted drafts.",
        ),
        Question(
            "draft_and_verify",
            f"With these drafts, a draft pass costs {cost} of a target pass. What speedup is "
            "that if checking rows is free, and what if checking three rows costs 1.4 passes?",
            f"{ratio(idealised_speedup(alpha, drafts, cost))}× and "
            f"{ratio(speedup_at_cost(alpha, drafts, cost, 1.4))}×.",
        ),
    ]


def _trees() -> list[Question]:
    paths, level = 1, []
    for width in WIDTHS:
        paths *= width
        level.append(paths)
    nodes = sum(level)
    shape = "-".join(map(str, WIDTHS))
    return [
        Question(
            "heads",
            "The LM head predicts the token at t + 1. Which token does Medusa head 2 predict?",
            "The token at t + 3.",
        ),
        Question(
            "tree",
            f"Draw the tree with the widths {shape}. How many paths, nodes (without the root) and "
            "rows has it?",
            f"{paths} paths, {nodes} nodes, {nodes + 1} rows.",
            lines=4,
        ),
        Question(
            "tree_attention",
            "Write down the tree-attention mask of the widths 2-1: which of its rows may each row "
            "see? What do siblings share?",
            "Each row sees itself and its ancestors, back to the root, and all of the text so far. "
            "Siblings share a position.",
            lines=4,
        ),
    ]


def _accepting() -> list[Question]:
    return [
        Question(
            "accepting",
            "Which acceptance rules leave the distribution of the text as it is, and which does "
            "not?",
            "Greedy (at temperature 0), sample, and rejection sampling of drawn guesses do; "
            "typical acceptance does not.",
            lines=2,
        ),
        Question(
            "best_tree",
            "Why does a tree of 64 nodes suit one machine and one of a few nodes another?",
            "Because a pass over many rows costs one machine hardly more than a pass over one, and "
            "another much more: the cost curve differs.",
            lines=2,
        ),
    ]


def numbers() -> dict[str, object]:
    """Questions with the titles of their chapters."""
    return {"questions": questions(), "titles": TITLES}


CHAPTER = Chapter(KEY, TITLES[KEY], numbers)
