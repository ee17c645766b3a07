"""A class for a page: heads train, and race plain decoding at every look."""

import itertools

import pytest

from explorer.lab.taught import RACED, taught
from explorer.training.class_record import Begun
from explorer.training.classroom import Lesson
from tests.tiny_lab import tiny_lab
from tests.training.tiny import long_counting_text, write_lines


@pytest.fixture
def seen(tmp_path):
    data = tmp_path / "text.jsonl.gz"
    write_lines(data, long_counting_text(200))
    size = {"conversations": 20, "held_out": 2, "vocabulary": 50, "num_heads": 2, "batch": 32}
    lesson = Lesson(data, tmp_path / "cache", seconds=0.2, every=0.1, **size)
    return list(taught(tiny_lab(), lesson))


def _after_reading(seen):
    return list(itertools.dropwhile(lambda one: isinstance(one, dict), seen))


def test_the_text_is_read_in_parts(seen):
    parts = seen[: -len(_after_reading(seen))]
    assert len(parts) > 1
    assert [part["reading"] for part in parts] == list(range(1, parts[-1]["of"] + 1))


def test_a_look_at_the_heads_is_a_timed_race(seen):
    begun, *rest = _after_reading(seen)
    assert isinstance(begun, Begun)
    frames = [frame for frame in rest if frame]
    assert len(frames) >= 2
    for frame in frames:
        race = frame["race"]
        assert race["identical"]  # heads that know little change the speed, never the text
        assert race["tokens"] == RACED
        assert race["speedup"] == pytest.approx(race["heads"] / race["plain"])
        assert 1 <= race["tokens_per_step"] <= 3
        assert race["words"]


def test_others_get_their_turn_within_a_race(seen):
    lesson = _after_reading(seen)
    steps = lesson.index(next(frame for frame in lesson if isinstance(frame, dict)))
    assert lesson[1:steps] == [None] * (steps - 1)
    assert steps - 1 > RACED  # after each step of both lanes
