"""The family: every member has every row, and figures say where they come from."""

import json

import pytest

from explorer.learn.family import ROWS, data
from explorer.learn.kin import KIN, TUTORIALS
from explorer.learn.kin_measured import measured
from explorer.learn.recorded_comparison import COMPARED, machine
from explorer.learn.sources import SOURCES
from explorer.records.methods import METHODS


@pytest.mark.parametrize("kin", KIN, ids=lambda kin: kin.key)
def test_a_member_has_every_row_and_known_sources(kin):
    assert all(getattr(kin, key) for key, _ in ROWS)
    assert set(kin.cited) <= set(SOURCES)
    assert kin.cited or kin.key == "plain"
    assert kin.method is None or kin.method in METHODS


@pytest.mark.parametrize("kin", KIN, ids=lambda kin: kin.key)
def test_a_published_speed_names_source_hardware_and_date(kin):
    for figure in kin.published:
        if kin.key == "plain" or figure.source == TUTORIALS:
            continue
        assert figure.source in kin.cited
        assert all((figure.of, figure.hardware, figure.date))
        assert SOURCES[figure.source].name in str(figure)


def test_every_method_of_the_product_is_a_member_with_measured_cells():
    assert {kin.method for kin in KIN} - {None} == set(METHODS)
    record = json.loads(COMPARED.read_text(encoding="utf-8"))
    assert f"{record['methods']['plain']['tokens_per_second']:.0f} tokens/s" in machine()
    for method in set(METHODS) - {"plain"}:
        cells = measured(method)
        assert f"{record['methods'][method]['speedup']:.2f}×" in cells["published"][0]
        assert all("against plain decoding at" in cell for cell in cells["published"])
        assert not any("plain decoding" in cell for cell in cells["drift"])  # lossless is no drift
        assert {"drafting", "memory", "verification", "drift"} <= set(cells)
        assert set(cells) <= {row for row, _ in ROWS}


def test_the_question_has_one_answer():
    asked = data()["question"]
    assert asked["options"][asked["right"]] == "N-gram and suffix"
