import pytest

from explorer.figures.view import step_view
from explorer.records.errors import ExplorerError
from tests.ui.fakes import FakeLab


@pytest.fixture(scope="module")
def trace():
    return FakeLab().trace(max_new_tokens=40)


def test_paths_and_ancestors_agree(trace):
    view = step_view(trace, 0)
    for row in range(view.rows):
        assert len(view.path(row)) == view.depths[row] == len(view.ancestors(row)) - 1
        assert view.path(row)[:-1] == view.path(max(view.parents[row], 0))


def test_steps_count_from_either_end(trace):
    assert step_view(trace, -1).step == trace.steps[-1]
    assert step_view(trace, -len(trace.steps)).step == trace.steps[0]


def test_no_such_step_says_which_there_are(trace):
    last = len(trace.steps) - 1
    for index in (last + 1, -last - 2):
        with pytest.raises(ExplorerError, match=f"no step {index}: .* steps 0 to {last}"):
            step_view(trace, index)
    with pytest.raises(ExplorerError, match="has no steps"):
        step_view(trace.model_copy(update={"steps": []}), 0)
