"""A class: heads learn while they are watched, from the loss and the schedule of `train heads`."""

import pytest
import torch

from explorer.analysis.rank_table import load_rank_table
from explorer.heads.checkpoints import load_heads
from explorer.training.classroom import Classroom, Lesson, class_text, reading
from explorer.training.heads_step import head_losses, heads_loss
from tests.training.tiny import TinyBase, long_counting_text, write_lines


@pytest.fixture
def classroom(tmp_path):
    data = tmp_path / "text.jsonl.gz"
    write_lines(data, long_counting_text(300))
    lesson = Lesson(
        data,
        tmp_path / "cache",
        conversations=40,
        held_out=4,
        vocabulary=50,
        num_heads=2,
        seconds=2.0,
        every=1.0,
        batch=64,
        lr=0.02,
    )
    model = TinyBase()
    text = class_text(model, lesson)
    read = [batch["done"] for batch in reading(model, text, lesson)]
    assert len(read) > 1  # others get their turn meanwhile
    return Classroom(model, lesson, text)


def test_heads_learn_in_class_and_can_be_kept(classroom, tmp_path):
    frames = [frame for frame in classroom.lesson_frames() if frame]
    assert [frame["losses"] is None for frame in frames] == [True, *[False] * (len(frames) - 1)]
    assert len(frames) >= 2
    first, last = frames[0], frames[-1]
    assert last["top1"][0] > first["top1"][0]
    assert last["tokens_per_step"] > first["tokens_per_step"]
    assert last["update"] == classroom.updates > 0
    classroom.keep(tmp_path / "kept")
    kept = load_heads(tmp_path / "kept", TinyBase())
    assert kept.config.training["updates"] == classroom.updates
    assert kept.config.accuracy["top1"] == last["top1"]
    table = load_rank_table(tmp_path / "kept")  # what a machine's expectation is computed from
    assert table is not None
    assert len(table.ranked()) == 4


def test_a_class_begins_with_heads_that_repeat_the_lm_head(classroom):
    first = next(classroom.lesson_frames())
    assert first["update"] == 0
    guesses = [head[0][0] for head in first["guesses"]]
    assert guesses[0] == guesses[1]  # every head says the same


def test_text_that_is_learned_from_is_not_measured_on(classroom):
    train, held = set(classroom.train_rows.tolist()), set(classroom.held_rows.tolist())
    assert not train & held
    assert classroom.example in held
    assert len(classroom.truth()) == 3


def test_the_loss_is_the_weighted_sum_of_the_heads(classroom):
    rows = classroom.train_rows[:20]
    losses = head_losses(classroom.heads, classroom.cache.hidden[rows], classroom.targets, rows)
    whole = heads_loss(losses, 0.8)
    assert float(whole) == pytest.approx(float(0.8 * losses[0] + 0.64 * losses[1]), rel=1e-6)
    assert isinstance(whole, torch.Tensor)
