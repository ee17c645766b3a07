"""A class for a page: heads that train, and at every look a timed race with them."""

from __future__ import annotations

import dataclasses
from collections.abc import Generator, Iterator
from typing import Any

from explorer.analysis.speedup import Samples, compare
from explorer.decoding.loop import Prefilled
from explorer.lab.lab import Lab
from explorer.measuring.head_set import HeadSet
from explorer.measuring.race import interleave
from explorer.records.methods import PLAIN
from explorer.records.settings import decode_settings
from explorer.training.class_record import Begun, record_of, shown
from explorer.training.classroom import Classroom, Lesson, class_text, reading
from explorer.training.heads_step import as_stored

RACED = 64  # new tokens of a lane


def taught(lab: Lab, lesson: Lesson) -> Iterator[Begun | dict[str, Any] | None]:
    """How much of the text is read ("reading", "of"), how the class began, then its frames, each
    with a "race"; None between them, so that others get their turn. Raises ExplorerError.
    """
    text = class_text(lab.model, lesson)
    for batch in reading(lab.model, text, lesson):
        yield {"reading": batch["done"], "of": batch["total"]}
    classroom = Classroom(lab.model, lesson, text)
    yield Begun(record_of(lab.model, classroom, []), classroom.keep)
    for frame in classroom.lesson_frames():
        if frame is None:
            yield None
            continue
        race = yield from _raced(lab, classroom)
        yield shown(lab.model, classroom, frame) | {"race": race}


def _raced(lab: Lab, classroom: Classroom) -> Generator[None, None, dict[str, Any]]:
    """The held-out prompt by plain decoding and by a chain of the heads' first guesses, in turns.

    The heads draft as they would after they were saved and loaded. Training rests meanwhile.
    """
    heads = as_stored(classroom.heads, "bfloat16")
    heads.pack()
    racing = dataclasses.replace(lab, heads={"medusa": HeadSet(heads, "in class", {}, {})})
    ours = decode_settings(tree=f"chain:{heads.config.num_heads}", max_new_tokens=RACED)
    lanes = {name: ours.model_copy(update={"method": name}) for name in ("medusa", PLAIN)}
    times: dict[str, list[tuple[int, float]]] = {name: [] for name in lanes}
    text: dict[str, list[int]] = {name: [] for name in lanes}
    steps = {name: racing.steps(classroom.prompt, lane) for name, lane in lanes.items()}
    for name, item in interleave(steps):
        if isinstance(item, Prefilled):
            continue
        times[name].append((len(item.emitted), 1000 * item.seconds))
        text[name] += item.emitted
        yield None
    samples = {name: Samples.of_pairs(pairs) for name, pairs in times.items()}
    found = compare(samples["medusa"], samples[PLAIN])
    return {
        "heads": found.lane.tokens_per_second,
        "plain": found.rival.tokens_per_second,
        "tokens_per_step": found.lane.tokens_per_step,
        "speedup": found.speedup,
        "half_width": found.half_width,
        "words": found.words.format(rival="plain decoding"),
        "tokens": found.rival.tokens,
        "identical": text["medusa"] == text[PLAIN],
    }
