import re

import pytest

from explorer.analysis.speedup import RaceFigures
from explorer.figures import numbers
from explorer.figures.view import StepView, step_view
from explorer.tracing.schema import Piece
from explorer.tracing.text import join_pieces
from explorer.ui import panels
from explorer.ui.lanes import lane_text, medusa_lane, plain_lane
from explorer.ui.verdicts import sentences, step_sentence
from tests.ui.fakes import TEXT, FakeExplorer

EVIL = "<img src=x onerror=alert(1)>\"'&"


@pytest.fixture(scope="module")
def trace():
    return FakeExplorer().trace(max_new_tokens=400)


@pytest.fixture(scope="module")
def evil(trace):
    return trace.model_copy(update={"pieces": {i: Piece(text=EVIL) for i in trace.pieces}})


def figures(speedup: float, spread: float | None = 0.02, estimate: bool = False) -> RaceFigures:
    return RaceFigures(60.0, 50.0, 1.9, speedup, spread, estimate)


def words(html: str) -> str:
    return re.sub("<[^>]+>", " ", html)


def test_lanes_hold_the_text(trace):
    text = lane_text(trace, trace.new_token_ids)
    assert text == TEXT == join_pieces(trace.pieces, trace.new_token_ids[:-1])
    plain = [token.token_id for token in trace.plain]
    assert lane_text(trace, plain) == text
    assert medusa_lane(trace).count('class="mx-end"') == 1


def test_a_token_is_marked_by_its_depth_and_its_step(trace):
    html = medusa_lane(trace, selected=2)
    depths = [int(depth) for depth in re.findall(r'<span class="d(\d)', html)]
    assert depths.count(0) >= len(trace.steps) - 2
    assert html.count(" now") == len(trace.steps[2].emitted)


def test_hostile_tokens_are_text_everywhere(evil):
    html = medusa_lane(evil, 0) + plain_lane(evil)
    view = step_view(evil, 1)
    html += "".join(panels.node(view, row) for row in range(view.rows))
    html += panels.status("failed", EVIL) + panels.header(EVIL, [EVIL]) + panels.title(EVIL, EVIL)
    html += panels.lane_head(EVIL, 1.0, EVIL) + panels.nothing_yet(EVIL)
    assert "<img" not in html
    assert "&lt;img" in html


def test_speedup_with_spread():
    shown = words(panels.speedup(figures(1.308, 0.041), 96, 50, 90))
    assert "1.31×" in shown
    assert "± 0.04" in shown
    assert "faster than plain decoding" in shown
    assert "measured, 96 tokens, 50 steps" in shown


def test_a_slowdown_is_shown_as_one():
    html = panels.speedup(figures(0.871), 96, 50, 90)
    assert "mx-slow" in html
    assert "0.87×" in html
    assert "slower than plain decoding" in html


def test_a_difference_within_the_spread_says_so():
    assert "within the spread" in panels.speedup(figures(1.1, 0.3), 96, 50, 90)
    assert "as fast as plain" in panels.speedup(figures(1.001), 96, 50, 90)


def test_few_samples_are_an_estimate_in_words():
    shown = words(panels.speedup(figures(1.3, 0.2, estimate=True), 9, 5, 4))
    assert "estimate: only 4 plain tokens" in shown
    assert "±" not in shown
    assert "nothing measured yet" in panels.speedup(None, 0, 0, 0)


def test_cost_of_a_step_against_a_plain_step(trace):
    view = step_view(trace, 0)
    shown = words(panels.cost(view))
    for name in ("heads", "draft", "verify", "accept", "commit"):
        assert f"{name} {numbers.milliseconds(getattr(view.step.timings, name))}" in shown
    needed = view.step.timings.step / view.plain_ms
    assert f"{needed:.2f} plain steps" in shown
    alone = trace.model_copy(update={"plain": []})
    assert "plain" not in words(panels.cost(step_view(alone, 0)))


def rows_of(trace, verdict: str) -> list[tuple[StepView, int]]:
    return [
        (step_view(trace, step.index), row)
        for step in trace.steps
        for row, found in enumerate(step.verdicts)
        if found == verdict
    ]


def test_verdicts_name_guess_wish_and_rule(trace):
    view, row = rows_of(trace, "accepted")[0]
    told = " ".join(sentences(view, row))
    assert f"Head {view.depths[row]} guessed" in told
    assert "greedy acceptance takes it" in told
    view, row = rows_of(trace, "rejected")[0]
    told = " ".join(sentences(view, row))
    assert f"wanted ‘{view.token(view.step.choices[view.parents[row]])}’ (0.62)" in told
    assert f"rank {view.step.base_ranks[row] + 1}" in told
    view, row = rows_of(trace, "pruned")[0]
    assert "never reached" in " ".join(sentences(view, row))


def test_verdicts_of_the_other_rules(trace):
    def told(rule: str, verdict: str, **changes: object) -> str:
        view, row = rows_of(trace, verdict)[0]
        step = view.step.model_copy(update=changes)
        return " ".join(
            sentences(StepView(step, view.shape, view.pieces, view.heads, rule, 20.0), row)
        )

    assert "drawn from the base model's distribution" in told("sample", "rejected")
    assert "is the same" in told("sample", "accepted")
    assert "lossy" in told("typical", "accepted", thresholds=[0.05] * 65)
    assert "not above 0.99" in told("typical", "rejected", thresholds=[0.99] * 65)
    assert "likelier path won" in told("typical", "rejected", thresholds=[0.0] * 65)


def test_every_row_of_every_step_has_a_verdict(trace):
    for step in trace.steps:
        view = step_view(trace, step.index)
        assert step_sentence(view)
        for row in range(view.rows):
            assert all(sentence.endswith(".") for sentence in sentences(view, row))


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


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (numbers.count(12345), "12\u202f345"),
        (numbers.plural(1, "step"), "1 step"),
        (numbers.ratio(None), "–"),
        (numbers.rate(61.23), "61.2"),
        (numbers.rate(1234.5), "1\u202f234"),
        (numbers.milliseconds(0.034), "0.03"),
        (numbers.probability(0.0042), "0.0042"),
        (numbers.probability(0.9999), "over 0.99"),
        (numbers.probability(1e-9), "under 0.0001"),
        (numbers.ordinal(11), "11th"),
        (numbers.ordinal(22), "22nd"),
        (numbers.ordinal(3), "3rd"),
    ],
)
def test_numbers(shown, expected):
    assert shown == expected
