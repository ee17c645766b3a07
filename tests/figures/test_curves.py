"""Training curves: a picture that is well-formed, whatever the log holds."""

import xml.etree.ElementTree as ET
from itertools import pairwise

import pytest

from explorer.figures.curves import _ticks, training_curves

SVG = "{http://www.w3.org/2000/svg}"
LOSSES = [{"update": u, "epoch": 1, "loss": 10.0 - u / 50} for u in range(10, 110, 10)]
EPOCH = {
    "update": 100, "epoch": 1, "epoch_done": True, "loss": 9.0,
    "accuracy": {"top1": [0.4, 0.25], "top3": [0.6, 0.5]},
}  # fmt: skip


def drawn(log, **more):
    return ET.fromstring(training_curves(log, **more))


def points(svg):
    return [
        [tuple(map(float, pair.split(","))) for pair in line.get("points").split()]
        for line in svg.iter(f"{SVG}polyline")
    ]


def test_losses_fall_and_every_head_has_a_line():
    svg = drawn([*LOSSES, EPOCH])
    loss, one, two = points(svg)
    assert len(loss) == 10
    assert all(later[0] > x and later[1] > y for (x, y), later in pairwise(loss))
    assert one[0][1] < two[0][1]  # head 1 lies higher
    texts = [text.text for text in svg.iter(f"{SVG}text")]
    assert {"loss", "head 1", "head 2", "updates"} <= set(texts)
    box = list(map(float, svg.get("viewBox").split()))
    assert all(0 <= x <= box[2] and 0 <= y <= box[3] for line in points(svg) for x, y in line)


def test_without_held_out_figures_there_is_one_panel():
    assert len(points(drawn(LOSSES))) == 1
    assert points(drawn([])) == []


def test_losses_that_are_no_numbers_are_left_out():
    odd = [{"update": 110, "epoch": 2, "loss": loss} for loss in (float("nan"), 1e308, -(10**400))]
    (line,) = points(drawn([*LOSSES, *odd]))
    assert len(line) == 10


def test_the_title_is_text():
    text = training_curves(LOSSES, title="<script>&")
    assert "<script" not in text
    assert drawn(LOSSES, title="<script>&").find(f"{SVG}title").text == "<script>&"


@pytest.mark.parametrize(
    ("low", "high"),
    [
        (0, 1),
        (7.2, 9.9),
        (0.16, 0.47),
        (5, 5),
        (0, 0),
        (1e-12, 2e-12),
        (5e-324, 5e-324),
        (1, 1 + 1e-15),
        (-9e99, 9e99),
    ],
)
def test_ticks_are_round_and_hold_all_values(low, high):
    ticks = _ticks(low, high)
    assert ticks[0] <= low
    assert high <= ticks[-1]
    assert 2 <= len(ticks) <= 8
    assert ticks == sorted(set(ticks))
