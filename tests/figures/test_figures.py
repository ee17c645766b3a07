import json
import re

import pytest

from explorer.analysis.speedup import race_figures
from explorer.figures.base import plotly_text
from explorer.figures.lengths import lengths_figure
from explorer.figures.mask import mask_figure
from explorer.figures.palette import LOOKS
from explorer.figures.race import race_figure
from explorer.figures.tree import tree_figure
from explorer.figures.tree_layout import tidy
from explorer.figures.view import StepView, step_view
from explorer.records.errors import ExplorerError
from explorer.records.piece import Piece
from tests.trace_records import with_rival
from tests.ui.fake_run import SHAPES
from tests.ui.fakes import FakeLab

EVIL = '<img src=x onerror="alert(1)"> & $x$'


@pytest.fixture(scope="module")
def trace():
    return FakeLab().trace()


def nodes(figure, kind: str):
    meaning = LOOKS[kind].meaning
    return next((t for t in figure.data if t.name == meaning and t.mode == "markers+text"), None)


def strings(value: object) -> list[str]:
    """All strings in a figure's JSON."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for item in value.values() for text in strings(item)]
    return [text for item in value for text in strings(item)] if isinstance(value, list) else []


def test_a_node_for_every_row_and_one_for_the_bonus(trace):
    for index, step in enumerate(trace.steps):
        figure = tree_figure(step_view(trace, index))
        for kind in ("root", "accepted", "rejected", "pruned"):
            drawn = nodes(figure, kind)
            assert (len(drawn.x) if drawn else 0) == step.verdicts.count(kind)
        assert (nodes(figure, "bonus") is not None) == (step.bonus is not None)


def test_a_node_off_the_path_is_named_as_its_rule_has_it(trace):
    view = step_view(trace, next(i for i, s in enumerate(trace.steps) if "pruned" in s.verdicts))
    row = view.step.verdicts.index("pruned")
    reasons = [*view.step.verdicts]
    reasons[row] = "untried"
    step = view.step.model_copy(update={"reasons": reasons})
    figure = tree_figure(StepView(step, view.shape, view.pieces))
    texts = [text for data in figure.data for text in data.hovertext or ()]
    assert sum(text.endswith("<br>not tried") for text in texts) == 1


def test_verdicts_differ_in_shape_line_and_size_not_only_in_colour():
    looks = list(LOOKS.values())
    assert len({look.marker for look in looks}) == len(looks)
    assert len({look.sign for look in looks}) == len(looks)
    judged = [LOOKS[kind] for kind in ("accepted", "rejected", "pruned")]
    assert len({look.dash for look in judged}) == len({look.width for look in judged}) == 3


def test_selected_node_is_ringed(trace):
    view = step_view(trace, 0)
    plain, ringed = tree_figure(view), tree_figure(view, selected=1)
    assert len(ringed.data) == len(plain.data) + 1
    assert len(tree_figure(view, selected=999).data) == len(plain.data)


def test_tidy_layout_has_a_line_for_each_leaf_and_no_two_nodes_in_one_place():
    for shape in SHAPES:
        place = tidy(shape.parents)
        leaves = set(range(len(shape.parents))) - set(shape.parents)
        assert place.height == len(leaves)
        assert len(set(zip(place.columns, place.lines, strict=True))) == len(shape.parents)
        assert place.columns == shape.depths
    assert tidy([-1, *range(512)]).height == 1  # as deep as trees may be


def test_mask_shows_prefix_ancestors_and_self(trace):
    view = step_view(trace, 0)
    cells = mask_figure(view).data[0].z
    assert len(cells) == view.rows
    for row, line in enumerate(cells):
        seen = {column - 1 for column, cell in enumerate(line) if cell is not None}
        assert seen == {-1, *view.ancestors(row)}


def test_large_mask_does_not_name_every_column(trace):
    view = step_view(trace, next(i for i, s in enumerate(trace.steps) if len(s.token_ids) == 65))
    layout = mask_figure(view).layout
    assert not layout.xaxis.ticktext
    assert len(layout.yaxis.ticktext) == 65


def test_lengths_and_race_hold_every_step(trace):
    bars = lengths_figure(trace.steps, 3)
    tokens = sum(sum(bar.y) for bar in bars.data)
    assert tokens == len(trace.new_token_ids)
    assert bars.layout.shapes[0].x0 < 3 < bars.layout.shapes[0].x1
    assert bars.data[0].x[3] == 3
    lanes = race_figure(trace).data
    assert [lane.y[-1] for lane in lanes] == [len(trace.new_token_ids), len(trace.rival.steps)]


def test_race_shows_the_speed_of_both_lanes_and_the_speedup_with_its_half_width(trace):
    expected = race_figures(trace)
    figure = race_figure(trace)
    ours, theirs = (lane.name for lane in figure.data)
    assert ours.startswith(f"medusa: {expected.lane.tokens_per_second:.1f} tokens/s")
    assert f"{expected.lane.tokens_per_step:.2f} tokens per step" in ours
    assert theirs.startswith(f"plain: {expected.rival.tokens_per_second:.1f} tokens/s")
    title = f"{expected.speedup:.2f}× ± {expected.half_width:.2f}"
    assert figure.layout.title.text == f"{title}, measured"
    short = race_figure(with_rival(trace, trace.rival.steps[:15])).layout.title.text
    assert "estimate" in short
    assert "measured" not in short


def test_without_a_race_there_is_one_lane_and_no_speedup(trace):
    figure = race_figure(with_rival(trace, None))
    assert len(figure.data) == 1
    assert figure.layout.title.text is None


def test_figures_without_a_step(make_trace):
    assert lengths_figure([]).data[0].x == ()
    assert race_figure(make_trace([1], [])).data[0].y == (0,)
    with pytest.raises(ExplorerError, match="no step 0"):
        lengths_figure([], 0)


def test_hostile_tokens_are_text_in_every_string_of_every_figure(trace):
    evil = trace.model_copy(update={"pieces": {i: Piece(text=EVIL) for i in trace.pieces}})
    view = step_view(evil, 1)
    settings = evil.header.settings.model_copy(update={"method": EVIL})
    header = evil.header.model_copy(update={"settings": settings})
    race = race_figure(evil.model_copy(update={"header": header}))
    for figure in (tree_figure(view, 1), mask_figure(view), race):
        for text in strings(json.loads(figure.to_json())):
            bare = re.sub(r"</?b>|<br>|<extra></extra>", "", text)
            assert "<" not in bare
            assert "$" not in bare


def test_plotly_text():
    assert plotly_text("<b>&amp;$") == "&lt;b&gt;&amp;amp;&#36;"


def test_figures_do_not_change_the_records(trace):
    before = trace.model_dump_json()
    view = step_view(trace, 1)
    tree_figure(view), mask_figure(view), lengths_figure(trace.steps)
    assert trace.model_dump_json() == before
