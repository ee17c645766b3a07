"""Write prompts with long texts in them: ``--data FILE.jsonl.gz --count N --seed S --out FILE``.

Heads behave differently behind a long context, and self-distilled conversations are short. So the
texts to summarise and ask about here are made of earlier replies of the default model (`--data`, as
`train data` writes it), several to a text, 300 to 1,200 tokens long. The same options give the same
file.
"""

import argparse
import json
import random
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import explorer
from explorer.training.data import read_conversations

SHORTEST, LONGEST = 300, 1200  # tokens of a text
LEAST_REPLY = 60  # tokens; shorter replies make poor paragraphs
TASKS = (
    "Summarize the following text in a few sentences.\n\n{text}",
    "{text}\n\nSummarize the text above.",
    "Write a short summary of this article.\n\nArticle: {text}\n\nSummary:",
    "Read the text and list its main points.\n\n{text}",
    "What is the following text about? Answer in one paragraph.\n\n{text}",
    "{text}\n\nTL;DR:",
    "Summarize: {text}",
    "Give the text a title and explain in two sentences why it fits.\n\n{text}",
)


def texts(replies: Sequence[list[int]], count: int, seed: int) -> Iterator[list[list[int]]]:
    """Yield `count` texts, each a list of replies (token ids) that add up to its length."""
    dice = random.Random(seed)
    for _ in range(count):
        wanted, parts = dice.randint(SHORTEST, LONGEST), []
        while sum(map(len, parts)) < wanted:
            parts.append(dice.choice(replies))
        yield parts


def prompts(data: Path, count: int, seed: int) -> Iterator[str]:
    """Yield the prompts, as text."""
    model = explorer.load(heads="none").model
    conversations = read_conversations(data, model.vocab_size)
    replies = [list(c.response) for c in conversations if len(c.response) >= LEAST_REPLY]
    dice = random.Random(seed + 1)
    for parts in texts(replies, count, seed):
        paragraphs = [model.tokenizer.decode(p, skip_special_tokens=True).strip() for p in parts]
        yield dice.choice(TASKS).format(text="\n\n".join(paragraphs))


def main() -> None:
    """Write the file."""
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--data", type=Path, required=True)
    options.add_argument("--count", type=int, required=True)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--out", type=Path, required=True)
    given = options.parse_args()
    with given.out.open("w", encoding="utf-8") as file:
        for number, prompt in enumerate(prompts(given.data, given.count, given.seed)):
            record = {"id": f"long-{number}", "category": "sum", "prompt": prompt}
            file.write(json.dumps(record, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
