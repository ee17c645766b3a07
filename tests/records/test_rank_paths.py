import pytest

from explorer.records.errors import ExplorerError
from explorer.records.rank_paths import (
    cartesian_counts,
    parse_paths,
    published_trees,
)


def test_widths_explode():
    assert cartesian_counts([8, 8, 8, 8]) == (4096, 4680)
    assert cartesian_counts([]) == (0, 0)
    assert len(parse_paths("cartesian:3,2")) == cartesian_counts([3, 2])[1]
    with pytest.raises(ExplorerError, match=r"4,096 paths and 4,680 nodes; at most 512"):
        parse_paths("cartesian:8,8,8,8")


def test_published_trees_are_trees_of_63_nodes_with_a_source():
    assert {"mc_sim_7b_63", "vicuna_7b_stage2", "zephyr_stage2"} <= set(published_trees())
    for name, paths in published_trees().items():
        assert len(parse_paths(str(list(map(list, paths))))) == 63, name
        assert parse_paths(name) == paths


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("root", ()),
        ("chain:2", ((0,), (0, 0))),
        ("[[0], [0, 1]]", ((0,), (0, 1))),
        ("[(0,), (0, 1)]", ((0,), (0, 1))),
        (" ((0,), (1,),) ", ((0,), (1,))),
    ],
)
def test_shapes_as_people_write_them(text, paths):
    assert parse_paths(text) == paths


def test_a_rank_that_fits_no_vocabulary_is_named():
    for rank in (1 << 24, 2**63, 10**30):
        with pytest.raises(ExplorerError, match=f"^The tree asks for rank {rank} but .*: use "):
            parse_paths(f"[[{rank}]]")
    assert parse_paths("[[99999]]") == ((99999,),)  # of the heads at hand: tree.require_fit
    with pytest.raises(ExplorerError) as error:
        parse_paths(f"[[{'9' * 4000}]]")
    assert len(str(error.value)) < 300


@pytest.mark.parametrize(
    "text", ["", "chain:0", "chain:x", "cartesian:2,0", "[[0, 1]]", "[[0], [0]]", "[[]]", "[[-1]]",
             "[[0.5]]", "[(0,", "oak", "[" * 9999],
)  # fmt: skip
def test_what_is_no_tree_is_one_sentence(text):
    with pytest.raises(ExplorerError):
        parse_paths(text)
