"""What chapters show of a visitor's own run: as of a recorded one, or one clear sentence."""

import json

import pytest

from explorer.learn.chapters import chapters, tour
from explorer.learn.heads import SHARES
from explorer.learn.recorded_runs import recorded_run
from explorer.records.errors import ExplorerError
from explorer.records.methods import parameters
from explorer.records.rank_paths import cartesian_paths
from explorer.records.settings import decode_settings

OWN = {chapter.key: chapter for chapter in chapters() if chapter.own}
SHOWS = {  # a run of the gallery that shows what the chapter is about, and one that does not
    "speculative_sampling": ("sampling", "code"),
    "heads": ("code", None),
    "tree": ("story", "sampling"),
    "tree_attention": ("code", "sampling"),
    "accepting": ("typical", "code"),
}


def test_every_chapter_about_a_run_looks_at_own_runs():
    assert set(OWN) == set(SHOWS)
    assert set(OWN) <= {chapter.key for chapter in tour()}


@pytest.mark.parametrize("key", OWN)
def test_its_settings_are_settings(key):
    settings = decode_settings(**OWN[key].own.settings)
    known = {*type(settings).model_fields, *parameters()}
    assert set(OWN[key].own.settings) <= known
    assert settings.max_new_tokens <= 64  # a few seconds on a small machine


@pytest.mark.parametrize("key", OWN)
def test_what_is_shown_replaces_data_of_the_recorded_run(key):
    trace = recorded_run(SHOWS[key][0])
    shown = OWN[key].own.shown(trace)
    json.dumps(shown.data, allow_nan=False)
    assert set(shown.data) <= set(OWN[key].data())
    assert 1 <= shown.step <= len(trace.steps)
    asked = shown.data["question"]
    assert "your run" in asked["ask"]
    assert 0 <= asked["right"] < len(asked["options"]) == len(set(asked["options"]))


@pytest.mark.parametrize("key", [key for key in OWN if SHOWS[key][1]])
def test_a_run_that_shows_nothing_of_it_is_refused_in_a_sentence(key):
    with pytest.raises(ExplorerError, match=r"^Your last run .+ own here.*\.$"):
        OWN[key].own.shown(recorded_run(SHOWS[key][1]))


def test_heads_that_read_the_tokens_between_are_not_asked_how_far_ahead_they_saw():
    trace = recorded_run("code")
    settings = trace.header.settings.model_copy(update={"method": "hydra"})
    header = trace.header.model_copy(update={"settings": settings, "shown": None})
    with pytest.raises(ExplorerError, match="own here, on a model with Medusa heads"):
        OWN["heads"].own.shown(trace.model_copy(update={"header": header}))


@pytest.mark.parametrize("key", OWN)
def test_a_run_without_a_step_is_refused(key):
    empty = recorded_run("code").model_copy(update={"steps": [], "trees": []})
    with pytest.raises(ExplorerError):
        OWN[key].own.shown(empty)


def test_questions_are_answered_by_the_run():
    """Each counted anew, from the records alone."""
    trace = recorded_run("typical")
    asked = OWN["accepting"].own.shown(trace).data["question"]
    number = int(asked["ask"].split()[1]) - 1
    assert asked["options"][asked["right"]] == str(len(trace.steps[number].accepted) - 1)

    trace = recorded_run("story")
    shown = OWN["tree"].own.shown(trace)
    step = trace.steps[shown.step - 1]
    firsts = 1
    for row in step.accepted[1:]:
        if any(trace.trees[step.tree].paths[row - 1]):
            break
        firsts += 1
    asked = shown.data["question"]
    assert asked["options"][asked["right"]] == str(firsts)


def test_a_chain_writes_less_than_the_tree_in_every_run_with_one():
    shown = OWN["tree"].own.shown(recorded_run("story"))
    assert shown.data["most"] == 4
    rates = list(shown.data["rates"].values())
    assert rates == sorted(rates)
    assert len(recorded_run("story").trees[0].paths) == len(cartesian_paths([4, 3, 1]))


def test_heads_of_a_run_are_right_more_often_with_more_guesses():
    shares = OWN["heads"].own.shown(recorded_run("code")).data["accuracy"]["shares"]
    assert tuple(shares) == SHARES
    for few, many in zip(list(shares.values()), list(shares.values())[1:], strict=False):
        assert all(a <= b for a, b in zip(few, many, strict=True))
