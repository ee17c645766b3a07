"""Write varied user prompts for self-distillation: ``--count N --seed S --out FILE.jsonl``.

The prompts come from templates, word lists and passages in ``training_prompts`` beside this file.
The same options give the same file. Each line is ``{"id", "category", "prompt"}``; no two prompts
of a file are the same once numbers and punctuation are left out. ``--exclude FILE.jsonl`` also
keeps clear of the prompts of an earlier file.
"""

import argparse
import json
import random
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from training_prompts.code import CodePrompts
from training_prompts.grammar import Deck, Grammar, read_lines, read_slots

DATA = Path(__file__).parent / "training_prompts"
SHARES = {
    "instruct": 0.30,
    "qa": 0.15,
    "maths": 0.12,
    "code": 0.15,
    "sum": 0.10,
    "extraction": 0.10,
    "creative": 0.05,
    "language": 0.03,
}
WRAPPED_SHARE = 0.35  # of the instructions that are orders; the others stand alone
NO_ORDERS = ("I ", "My ", "Two ", "Someone ", "Here ", "A ", "An ", "If ")
QUESTION_STYLES = (50, 15, 10, 10, 15)  # weights, see _questions
EXTRACTION_KINDS = (55, 25, 20)  # weights: records, templates with their own text, passages
WHOLE_SHARE = 0.4  # of the passages that could be cut
DOUBLE_SHARE = 0.04
HOLE, LOWER_HOLE = "\0", "\1"  # stand for finished text while what is around it is filled
TRIES = 5000  # similar prompts in a row before a category counts as used up
Maker = Callable[[], str]


class UsedUpError(Exception):
    """The templates give no further distinct prompt."""


def likeness(prompt: str) -> str:
    """Return the prompt's words without numbers, case and punctuation: equal means similar."""
    return " ".join(re.findall(r"[^\W\d_]+", prompt.lower()))


def counts_by_category(count: int) -> dict[str, int]:
    """Return how many prompts each category gets; the largest remainders round up."""
    counts = {name: int(count * share) for name, share in SHARES.items()}
    by_remainder = sorted(SHARES, key=lambda name: counts[name] - count * SHARES[name])
    for name in by_remainder[: count - sum(counts.values())]:
        counts[name] += 1
    return counts


def _lines(name: str) -> list[str]:
    return read_lines(DATA / name)


def _templates(name: str, grammar: Grammar, rng: random.Random) -> Maker:
    deck = Deck(_lines(name), rng)
    return lambda: grammar.fill(deck.deal())


def _wrapper(file: str, grammar: Grammar, rng: random.Random) -> Callable[[str], str]:
    """Return a function that puts a wrapper from a file around a prompt."""
    deck = Deck(_lines(file), rng)

    def surround(prompt: str) -> str:
        wrapper = deck.deal().replace("{prompt}", HOLE).replace("{lower}", LOWER_HOLE)
        lower = prompt[0].lower() + prompt[1:]
        return grammar.fill(wrapper).replace(HOLE, prompt).replace(LOWER_HOLE, lower)

    return surround


def _instructions(grammar: Grammar, rng: random.Random) -> Maker:
    make, wrap = _templates("instruct.txt", grammar, rng), _wrapper("wrappers.txt", grammar, rng)

    def instruct() -> str:
        prompt = make()
        is_order = prompt[-1] == "." and "?" not in prompt and not prompt.startswith(NO_ORDERS)
        if not is_order or rng.random() > WRAPPED_SHARE:
            return prompt
        return wrap(prompt)

    return instruct


def _questions(grammar: Grammar, rng: random.Random) -> Maker:
    make, wrap = _templates("qa.txt", grammar, rng), _wrapper("qa_wrappers.txt", grammar, rng)

    def style() -> str:
        """People type questions with care, all in lower case, without "?", or with a preface."""
        question = make()
        styles = [
            question,
            question[0].upper() + question[1:],
            question.capitalize(),
            question.lower().rstrip("?"),
            wrap(question[0].upper() + question[1:]),
        ]
        return rng.choices(styles, QUESTION_STYLES)[0]

    return style


def _passages(grammar: Grammar, rng: random.Random) -> Maker:
    """Return a maker of passages: whole, cut after some sentences, or (rarely) two or three."""
    deck = Deck(_lines("passages.txt"), rng)

    def make() -> str:
        passage = grammar.fill(deck.deal())
        if rng.random() < DOUBLE_SHARE:
            more = [grammar.fill(deck.deal()) for _ in range(rng.choice([1, 2]))]
            return "\n\n".join([passage, *more])
        return _trimmed(passage, rng)

    return make


def _trimmed(passage: str, rng: random.Random) -> str:
    sentences = re.split(r"(?<=[.!?]) ", passage)
    if "\n" in passage or len(sentences) < 6 or rng.random() < WHOLE_SHARE:
        return passage
    return " ".join(sentences[: rng.randrange(4, len(sentences))])


def _about(file: str, passages: Maker, grammar: Grammar, rng: random.Random) -> Maker:
    """Return a maker of orders from a file, each with a passage in place of ``{passage}``."""
    orders = Deck(_lines(file), rng)
    return lambda: grammar.fill(orders.deal().replace("{passage}", HOLE)).replace(HOLE, passages())


def _records(grammar: Grammar, rng: random.Random) -> Maker:
    orders, records = Deck(_lines("extraction_prompts.txt"), rng), Deck(_lines("records.txt"), rng)

    def make() -> str:
        fields, _, text = records.deal().partition(" || ")
        return grammar.fill(orders.deal().replace("{fields}", fields).replace("{text}", text))

    return make


def _extractions(passages: Maker, grammar: Grammar, rng: random.Random) -> Maker:
    kinds = [
        _records(grammar, rng),
        _templates("extraction_direct.txt", grammar, rng),
        _about("passage_facts.txt", passages, grammar, rng),
    ]
    return lambda: rng.choices(kinds, EXTRACTION_KINDS)[0]()


def makers(rng: random.Random) -> dict[str, Maker]:
    """Return a function per category that makes one prompt a call."""
    grammar = Grammar(read_slots(DATA / "slots.txt"), rng)
    passages = _passages(grammar, rng)
    return {
        "instruct": _instructions(grammar, rng),
        "qa": _questions(grammar, rng),
        "maths": _templates("maths.txt", grammar, rng),
        "code": CodePrompts(DATA, grammar, rng).make,
        "sum": _about("sum_prompts.txt", passages, grammar, rng),
        "extraction": _extractions(passages, grammar, rng),
        "creative": _templates("creative.txt", grammar, rng),
        "language": _templates("language.txt", grammar, rng),
    }


def _distinct(make: Maker, count: int, seen: set[str]) -> Iterator[str]:
    for _ in range(count):
        for _ in range(TRIES):
            prompt = make()
            if (key := likeness(prompt)) not in seen:
                break
        else:
            raise UsedUpError
        seen.add(key)
        yield prompt


def training_prompts(count: int, seed: int, exclude: Iterable[str] = ()) -> list[dict[str, str]]:
    """Return ``count`` records in random order; raises UsedUpError if there are too few."""
    rng = random.Random(seed)
    seen = {likeness(prompt) for prompt in exclude}
    make = makers(rng)
    records = [
        {"id": f"{category}-{seed}-{index}", "category": category, "prompt": prompt}
        for category, share in counts_by_category(count).items()
        for index, prompt in enumerate(_distinct(make[category], share, seen))
    ]
    rng.shuffle(records)
    return records


def main() -> None:
    """Write the file that the command line asks for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, required=True, help="number of prompts")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, required=True, help="JSON lines file to write")
    parser.add_argument("--exclude", type=Path, nargs="*", default=[], help="earlier files")
    args = parser.parse_args()
    earlier = [
        json.loads(line)["prompt"]
        for path in args.exclude
        for line in path.read_text(encoding="utf-8").splitlines()
    ]
    try:
        records = training_prompts(args.count, args.seed, earlier)
    except UsedUpError:
        parser.error(f"--count {args.count} is more than the templates can give: ask for fewer.")
    lines = [json.dumps(record, ensure_ascii=False) + "\n" for record in records]
    args.out.write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
