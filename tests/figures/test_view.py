import pytest

from explorer.figures.view import step_view
from tests.ui.fakes import FakeExplorer


@pytest.fixture(scope="module")
def trace():
    return FakeExplorer().trace(max_new_tokens=400)


def test_heads_lists_are_those_that_the_step_was_drafted_from(trace):
    assert step_view(trace, 0).heads == trace.header.prompt_position.heads
    assert step_view(trace, 5).heads == trace.steps[4].positions[-1].heads
    # a recorder may tell the position that chose the root with the step itself
    early, late = trace.steps[4], trace.steps[5]
    steps = list(trace.steps)
    steps[4] = early.model_copy(update={"positions": early.positions[:-1]})
    steps[5] = late.model_copy(update={"positions": [early.positions[-1], *late.positions]})
    moved = trace.model_copy(update={"steps": steps})
    assert step_view(moved, 5).heads == early.positions[-1].heads
    steps[5] = late
    assert step_view(trace.model_copy(update={"steps": steps}), 5).heads == ()
