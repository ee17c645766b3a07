"""Why a race came out as it did: causes that were timed, noise that is named, a step to rest on."""

from __future__ import annotations

import pytest

from explorer.analysis.race_reason import telling_step
from explorer.analysis.speedup import figures_of, race_figures
from explorer.records.step import LookaheadState
from explorer.records.step_facts import StepFacts


def facts(tokens=1, milliseconds=10.0, verify=10.0, guessing=0.0, rows=1, rejected=0):
    return StepFacts(tokens, milliseconds, verify, guessing, rows, rejected)


@pytest.fixture
def race(make_trace):
    """The figures of a race of two lists of steps; more is the settings that differ."""

    def figures(ours, theirs, **more):
        lane = make_trace([1, 2], ours)
        settings = lane.header.settings.model_copy(update=more)
        header = lane.header.model_copy(update={"settings": settings})
        rival = make_trace([1, 2], theirs)
        return race_figures(lane.model_copy(update={"header": header, "rival": rival}))

    return figures


def test_a_faster_lane_says_what_a_step_costs_and_yields(race, step):
    figures = race([step(emitted=(1, 2, 3), verify=30)] * 20, [step(verify=20)] * 20)
    assert "1.50 times as long as a step of {rival} but writes 3.00 tokens." in figures.reason
    assert figures.suggestion.does == "look"
    assert figures.suggestion.step == figures.telling_step


def test_a_slower_lane_says_where_its_time_goes(race, step):
    plain = [step(verify=20)] * 20
    checking = race([step(verify=50, heads=2)] * 20, plain, tree="chain:3")
    assert "goes into checking" in checking.reason
    assert checking.suggestion.settings == {"tree": "auto"}
    guessing = race([step(verify=22, heads=40)] * 20, plain)
    assert guessing.reason.endswith("goes into guessing.")
    assert guessing.suggestion is None  # no step wrote more than plain decoding does


def test_no_cause_is_named_that_was_not_most_of_the_time(race, step):
    plain = [step(verify=20)] * 20
    judging = race([step(verify=22, heads=1, accept=30)] * 20, plain)
    assert judging.reason.endswith("writes only 1.00 tokens.")


def test_a_lookahead_windows_rows_count(step):
    window = {"window": [[1, 2, 3, 4], [5, 6, 7, 8]], "guesses": [], "pool_size": 0}
    looking = step(verify=20).model_copy(update={"lookahead": LookaheadState(**window)})
    assert StepFacts.of(looking).rows == 1 + 7


def test_rows_are_those_of_real_passes(make_trace):
    settings = make_trace([1], []).header.settings
    last = facts(milliseconds=0.1, verify=0.0)  # needed no pass
    lane = [*[facts(milliseconds=50.0, verify=48.0, rows=15)] * 10, last]
    figures = figures_of(lane, [facts(milliseconds=20.0, verify=19.0)] * 20, settings)
    assert "checking 15 rows at once" in figures.reason


def test_an_interval_that_holds_one_asks_for_more_text(race, step):
    times = [t for t in (10, 30, 12, 29) for _ in range(6)]
    figures = race([step(verify=t) for t in times], [step(verify=21)] * 24, max_new_tokens=24)
    assert (figures.kind, figures.words) == ("unclear", "no clear difference")
    assert figures.suggestion.settings == {"max_new_tokens": 48}


def test_a_busy_machine_is_named_before_any_speed(race, step):
    times = [20, 21, 60, 20, 75, 20, 22, 80, 20, 64, 21, 20]
    figures = race([step(verify=30)] * 12, [step(verify=t) for t in times])
    assert figures.kind == "busy"
    assert "busy" in figures.reason
    assert figures.suggestion.does == "run"


def test_the_telling_step_writes_much_beside_a_rejected_guess():
    last = facts(tokens=5, verify=0)  # no pass: there is nothing to see
    lane = [facts(tokens=4), facts(tokens=3, rejected=2), facts(tokens=2, rejected=5), last]
    assert telling_step(lane) == 1
    assert telling_step([facts(tokens=4), facts(tokens=3)]) == 0
    assert telling_step([last]) is None


def test_a_step_that_wrote_several_tokens_tells_more_than_any_that_wrote_one():
    assert telling_step([facts(tokens=1, rejected=4), facts(tokens=2)]) == 1
