"""The pictures of the tree and of its mask show what the trace says."""

from __future__ import annotations

import pytest

from tests.browser.steps import full_step
from tests.ui.fake_run import HUGE, SHAPES, SMALL, SPARSE, WIDE
from tests.ui.fakes import FakeLab


def test_tree_rows_are_distinguished_without_colour(steps, trace):
    step, number = full_step(trace)
    steps.show(number)
    for verdict, mark in {"root": "rect", "accepted": "circle", "pruned": "path"}.items():
        nodes = f".sx-tree .sx-node.is-{verdict}"
        assert steps.count(nodes) == step.verdicts.count(verdict)
        assert steps.count(f"{nodes} > {mark}.sx-mark") == step.verdicts.count(verdict)
    assert steps.count(".sx-tree .sx-node.is-rejected") == step.verdicts.count("rejected")
    assert steps.count(".sx-tree .sx-node.is-bonus") == (step.bonus is not None)
    styles = {
        verdict: steps.page.eval_on_selector(
            f".sx-tree .sx-edge.is-{verdict}",
            "e => [getComputedStyle(e).strokeDasharray, getComputedStyle(e).strokeWidth].join()",
        )
        for verdict in ("accepted", "rejected", "pruned")
    }
    assert len(set(styles.values())) == 3
    label = trace.pieces[step.token_ids[0]].label
    assert label[:8] in steps.texts(".sx-tree .is-root .sx-token")[0]


def test_mask_shows_prefix_ancestors_and_self(steps, trace):
    step, number = full_step(trace)
    steps.show(number)
    parents = SHAPES[step.tree].parents
    lines = sum(1 + depth for depth in SHAPES[step.tree].depths)
    assert steps.count(".sx-mask .sx-cell:not(.is-prefix)") == lines
    assert steps.count(".sx-mask .sx-cell.is-prefix") == len(parents)
    steps.press("x")  # the prefix token by token: 24 of them and one for the rest
    assert steps.count(".sx-mask .sx-cell.is-prefix") == len(parents) * 25
    steps.press("x")


def test_the_names_of_the_rows_stay_in_sight_when_the_mask_scrolls(steps):
    box = "document.querySelector('.sx-mask .sx-box')"
    left = f"{box}.querySelector('.sx-names text').getBoundingClientRect().left"
    in_sight = f"{left} >= {box}.getBoundingClientRect().left"
    steps.page.set_viewport_size({"width": 390, "height": 900})
    steps.show(2).press("x")
    steps.wait(f"{box}.scrollLeft > 20 && {in_sight}")
    steps.press("ArrowRight")  # drawn again, where it has scrolled to
    steps.wait(f"{box}.scrollLeft > 20 && {in_sight}")


def test_additive_mask_is_zero_where_a_row_sees_and_minus_infinity_elsewhere(steps, trace):
    number = next(s.index + 1 for s in trace.steps if s.tree == SMALL)
    steps.show(number).press("m")
    n = len(trace.steps[number - 1].token_ids)
    zeros = sum(1 + depth for depth in SHAPES[SMALL].depths) + n
    assert steps.count(".sx-mask .sx-cell-text.is-zero") == zeros
    assert steps.count(".sx-mask .sx-cell-text.is-never") == n * n - (zeros - n)
    assert set(steps.texts(".sx-mask .is-never")) == {"−∞"}


@pytest.mark.parametrize("shape", [WIDE, SPARSE])
def test_trees_of_64_nodes_are_readable(alone, shape):
    steps = alone().open(FakeLab(shapes=(shape,)).trace(max_new_tokens=20)).show(2)
    boxes = steps.page.eval_on_selector_all(
        ".sx-tree .sx-token",
        "all => all.map(e => { const b = e.getBBox(); return [b.x, b.y, b.width, b.height]; })",
    )
    assert len(boxes) >= 64
    assert all(height >= 9 for *_, height in boxes)
    for i, (x, y, width, height) in enumerate(boxes):
        for other_x, other_y, other_width, other_height in boxes[i + 1 :]:
            apart = (
                x + width <= other_x + 1
                or other_x + other_width <= x + 1
                or y + height <= other_y + 3
                or other_y + other_height <= y + 3
            )
            assert apart, "two labels lie over each other"


def test_a_tree_of_256_nodes_folds_what_was_never_reached(alone):
    trace = FakeLab(shapes=(HUGE,)).trace(max_new_tokens=12)
    steps = alone().open(trace).show(1)
    total = len(trace.steps[0].token_ids)
    drawn = steps.count(".sx-tree .sx-node:not(.is-bonus)")
    assert drawn < total / 2
    folded = steps.page.locator(".sx-tree .sx-node:has-text('▸+')").first
    folded.click()
    assert steps.count(".sx-tree .sx-node:not(.is-bonus)") > drawn


def test_zoom_and_fit(steps, trace):
    number = next(s.index + 1 for s in trace.steps if s.tree == SPARSE)
    steps.show(number)
    height = "document.querySelector('.sx-tree svg').height.baseVal.value"
    before = steps.ask(height)
    steps.page.click(".sx-tree >> text='+'")
    assert steps.ask(height) > before
    steps.page.click(".sx-tree >> text='fit'")
    assert (
        steps.ask(height)
        <= steps.ask("document.querySelector('.sx-tree .sx-box').clientHeight") + 1
    )
