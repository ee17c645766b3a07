"""What one tab does after one another."""

import pytest

from explorer.ui.compare_session import CompareSession
from explorer.ui.session import Session
from explorer.ui.step_explorer import run_and_event
from explorer.ui.worker import Ticket


@pytest.mark.parametrize("kind", [Session, CompareSession])
def test_of_several_runs_that_begin_after_the_same_one_the_latest_goes_on(kind):
    first = kind()
    runs = [kind(ticket=Ticket(number)) for number in range(3)]
    for run in runs:
        first.give_way(run)
    assert [run.ticket.cancel.is_set() for run in runs] == [True, True, False]
    assert [run.superseded for run in [first, *runs]] == [True, True, True, False]


@pytest.mark.parametrize("known", range(4))
def test_stop_ends_the_latest_run_whichever_the_tab_knows_of(known):
    every = [Session(ticket=Ticket(number)) for number in range(4)]
    for run in every[1:]:
        every[0].give_way(run)
    every[known].stop()
    assert every[-1].ticket.cancel.is_set()
    assert not every[-1].superseded  # it still says that it was stopped


@pytest.mark.parametrize(
    "asked", [5, "x", None, [], ["a"], ["a", "b"], ["a", -1], [1, 2], {"run": 1}, ["a", 1, 2]]
)
def test_a_malformed_question_names_no_run(asked):
    assert run_and_event(asked) == ("", 0)


def test_a_question_names_its_run_and_the_first_event():
    assert run_and_event(["key", 3]) == ("key", 3)
