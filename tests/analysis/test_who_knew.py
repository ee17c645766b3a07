import pytest

from explorer.analysis.who_knew import compare_knowledge

PIECES = list("abcdef")


def test_leads_overlap_and_bounds_are_those_of_a_count_by_hand():
    found = compare_knowledge(
        PIECES, {"one": [2, 0, 0, 0, 1, 0], "two": [0, 1, 0, 2, 0, 0]}, ["a note"]
    )
    assert [token.ahead for token in found.tokens] == [
        {"one": 0, "two": 0},
        {"one": 1, "two": 0},
        {"one": 2, "two": 1},
        {"one": 0, "two": 0},
        {"one": 0, "two": 1},
        {"one": 1, "two": 2},
    ]
    one, two = found.methods["one"], found.methods["two"]
    assert (one.known, one.alone, one.farthest) == (3 / 5, 1 / 5, 2)
    assert (two.known, two.alone, two.farthest) == (3 / 5, 1 / 5, 2)
    assert found.overlap == {"one & two": 2 / 5}
    assert found.nobody == 1 / 5
    assert one.tokens_per_step == pytest.approx(6 / 3)  # abc, d, ef
    assert two.tokens_per_step == pytest.approx(6 / 3)  # a, bc, def
    assert found.router_tokens_per_step == pytest.approx(6 / 2)  # abc by one, def by two
    assert found.notes == ["a note"]


def test_a_method_that_is_known_at_some_positions_only_has_no_tokens_per_step():
    found = compare_knowledge(PIECES, {"one": [1, None, 0, 0, 0, 0]})
    assert found.methods["one"].tokens_per_step is None
    assert found.router_tokens_per_step > 1
