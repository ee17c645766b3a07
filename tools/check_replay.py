"""Whether a replay equals really running the tree, accepted length by accepted length.

    python tools/check_replay.py

Four prompts are decoded once. On each record 20 trees are replayed, and then every tree really
decodes the prompt. Prints how many steps were compared, and every difference; exit status 1 where
there is one.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from tqdm import tqdm

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import explorer  # noqa: E402
from explorer.analysis.replay import replayed_run  # noqa: E402
from explorer.decoding.loop import StepResult  # noqa: E402
from explorer.lab.lab import Lab  # noqa: E402
from explorer.records.rank_paths import RankPath  # noqa: E402
from explorer.records.settings import DecodeSettings, decode_settings  # noqa: E402

PROMPTS = (
    "Write a Python function that merges two sorted lists.",
    "List the planets of the solar system as JSON.",
    "Explain to a child why the sky is blue.",
    "Translate into French: The library opens at nine and closes at six.",
)
NAMED = (
    "root", "chain:1", "chain:2", "chain:4", "cartesian:2,2", "cartesian:3,2,1", "cartesian:6,3,2",
    "cartesian:2,2,2,2", "mc_sim_7b_63", "vicuna_7b_stage2", "zephyr_stage2", "dynamic:4",
    "dynamic:16",
)  # fmt: skip
RECORDED = "chain:3"


def random_tree(nodes: int, heads: int, seed: int) -> str:
    """A tree that grew at random places, as rank paths."""
    rng = random.Random(seed)
    tree: list[RankPath] = [()]
    while len(tree) <= nodes:
        parent = rng.choice([path for path in tree if len(path) < heads])
        path = (*parent, rng.randrange(8))
        if path not in tree:
            tree.append(path)
    return json.dumps([list(path) for path in tree[1:]])


def differences(
    lab: Lab, prompts: Sequence[str], trees: Sequence[str], max_new_tokens: int
) -> Iterator[tuple[int, str | None]]:
    """For each run and tree, the number of steps compared, and a difference if there is one."""
    for prompt in prompts:
        asked = decode_settings(method="medusa", tree=RECORDED, max_new_tokens=max_new_tokens)
        trace = lab.run(prompt, method="medusa", tree=RECORDED, max_new_tokens=max_new_tokens)
        for tree in trees:
            # The last step of a replay may begin where the record ends.
            replayed = replayed_run(trace, tree)[:-1]
            decoded = _decoded(lab, prompt, asked.model_copy(update={"tree": tree}))
            same = replayed == decoded[: len(replayed)]
            fault = f"{tree} on {prompt!r}: replayed {replayed}, decoded {decoded}"
            yield len(replayed), None if same else fault


def _decoded(lab: Lab, prompt: str, settings: DecodeSettings) -> list[int]:
    steps = lab.steps(lab.encode(prompt, settings), settings)
    return [len(step.emitted) for step in steps if isinstance(step, StepResult)]


def main(argv: Sequence[str] | None = None) -> int:
    """Check the default model. Returns the exit status."""
    options = argparse.ArgumentParser(description="Check that a replay equals running the tree.")
    options.add_argument("--max-new-tokens", type=int, default=96, metavar="N")
    args = options.parse_args(argv)
    lab = explorer.load()
    heads = lab.heads["medusa"].heads.config.num_heads
    trees = [*NAMED, *(random_tree(5 * seed, heads, seed) for seed in range(1, 8))]
    total = len(PROMPTS) * len(trees)
    found = list(tqdm(differences(lab, PROMPTS, trees, args.max_new_tokens), total=total))
    for _, fault in found:
        if fault:
            print(fault)
    steps, wrong = sum(count for count, _ in found), sum(fault is not None for _, fault in found)
    print(
        f"{len(trees)} trees on {len(PROMPTS)} runs: {steps} steps compared, {wrong} runs differ."
    )
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
