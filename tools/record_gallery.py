"""Records the gallery's traces with the default model: `python tools/record_gallery.py [NAME …]`.

Each is a whole race, timed on the machine that runs this, so run it on a quiet one. `--tries 5`
races each five times and keeps the race in which plain decoding's own passes varied least, which
says nothing of the speedup. With `--attention` the recorded runs stay as they are: only the
attention weights that they carry are computed again, from their tokens, which takes no quiet
machine.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import explorer  # noqa: E402
from explorer.analysis.race_reason import spread  # noqa: E402
from explorer.analysis.speedup import with_figures  # noqa: E402
from explorer.measuring.attention_records import question_of  # noqa: E402
from explorer.records.attention import AttentionHead  # noqa: E402
from explorer.records.events import TraceBuilder  # noqa: E402
from explorer.records.files import read_trace, write_trace  # noqa: E402
from explorer.records.schema import Trace  # noqa: E402
from explorer.records.step_facts import StepFacts  # noqa: E402
from explorer.ui.examples import EXAMPLES, INDEX, Example  # noqa: E402

DEPTHS_OF_LAYERS = (1 / 6, 1 / 3, 2 / 3)  # which layers' weights are carried


def main(arguments: list[str]) -> None:
    """Record the named entries of the index, or all of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="entries of the index; none: all")
    parser.add_argument("--tries", type=int, default=1, help="races of each")
    parser.add_argument("--attention", action="store_true", help="only the attention weights")
    args = parser.parse_args(arguments)
    lab = explorer.load()
    for example in EXAMPLES:
        if example.file is None or (args.names and example.name not in args.names):
            continue
        path = INDEX.parent / example.file
        trace = read_trace(path) if args.attention else calmest(lab, example, args.tries)
        trace = trace.model_copy(update={"attention": list(telling_heads(lab, trace))})
        write_trace(with_figures(trace), path)
        size = path.stat().st_size
        print(f"{path.name}: {len(trace.steps)} steps, {size:,} bytes, {unsteadiness(trace):.2f}")


def calmest(lab: explorer.Lab, example: Example, tries: int) -> Trace:
    """Of some races of the example the one with the steadiest clock."""
    return min((recorded(lab, example) for _ in range(tries)), key=unsteadiness)


def unsteadiness(trace: Trace) -> float:
    """How many times as long plain decoding's slow passes took as its quick ones."""
    quick, slow = spread(StepFacts.of_lane(trace.rival))
    return slow / quick if quick else math.inf


def recorded(lab: explorer.Lab, example: Example) -> Trace:
    """A race of the example, timed."""
    builder = TraceBuilder()
    settings = explorer.DecodeSettings.model_validate({**example.settings, **example.recorded})
    for event in lab.race(example.prompt, settings):
        builder.add(event)
    return builder.trace()


def telling_heads(lab: explorer.Lab, trace: Trace) -> Iterator[AttentionHead]:
    """Of two steps and a few layers: the head that looks least at the first token, and the most."""
    layers = lab.model.config.num_hidden_layers
    for step in telling_steps(trace):
        depths = trace.trees[trace.steps[step].tree].depths
        for layer in (round(layers * part) for part in DEPTHS_OF_LAYERS):
            least, *others = lab.weigh(question_of(trace, step, layer))
            yield least
            yield max(others, key=lambda head: sum(row[1] for row in head.rows(depths)))


def telling_steps(trace: Trace) -> list[int]:
    """The step with the longest accepted path, and the next one that accepted nothing."""
    passed = [step for step in trace.steps if step.base_top]
    longest = max(passed, key=lambda step: len(step.accepted))
    rejecting = (s for s in passed if s.index > longest.index and len(s.accepted) == 1)
    other = next(rejecting, passed[0] if passed[0] is not longest else passed[-1])
    return sorted({longest.index, other.index})


if __name__ == "__main__":
    main(sys.argv[1:])
