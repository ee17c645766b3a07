from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from explorer.analysis.tree_names import cartesian, make_tree, parse_tree
from explorer.decoding.tree import ROOT_ONLY, chain, cut, require_fit
from explorer.records.errors import ExplorerError


@st.composite
def prefix_closed(draw) -> list[tuple[int, ...]]:
    paths: list[tuple[int, ...]] = []
    for _ in range(draw(st.integers(0, 40))):
        parent = draw(st.sampled_from([(), *paths]))
        path = (*parent, draw(st.integers(0, 5)))
        if path not in paths and len(path) <= 6:
            paths.append(path)
    return draw(st.permutations(paths))


@settings(max_examples=60, deadline=None)
@given(prefix_closed())
def test_everything_follows_from_the_shape(paths):
    tree = make_tree(paths)
    assert set(tree.paths) == set(paths)
    assert tree.n == len(paths) + 1
    row = {(): 0} | {path: i for i, path in enumerate(tree.paths, start=1)}
    for path, i in row.items():
        ancestors = {row[path[:d]] for d in range(len(path) + 1)}
        assert set(torch.nonzero(tree.mask[i]).flatten().tolist()) == ancestors
        assert tree.depths[i] == len(path)
        assert tree.path_to(i) == sorted(ancestors)
        if path:
            assert tree.parents[i] == row[path[:-1]] < i
            assert tree.ranks[i] == path[-1]
            assert i in tree.children[row[path[:-1]]]


def test_cartesian_counts_match_the_closed_form():
    tree = cartesian([3, 2, 2])
    assert tree.n == 1 + 3 + 3 * 2 + 3 * 2 * 2
    with pytest.raises(ExplorerError, match="4,680 nodes"):
        cartesian([8, 8, 8, 8])


def test_a_chain_of_one_node_and_512_nodes():
    assert chain(1).paths == ((0,),)
    assert parse_tree("chain:512").n == 513
    wide = make_tree([(rank,) for rank in range(512)])
    assert wide.n == 513
    with pytest.raises(ExplorerError, match="at most 512"):
        make_tree([(rank,) for rank in range(513)])


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("root", ()),
        ("chain:2", ((0,), (0, 0))),
        ("cartesian:2,1", ((0,), (1,), (0, 0), (1, 0))),
        (" [[0], [0, 3]] ", ((0,), (0, 3))),
        ("[]", ()),
    ],
)
def test_trees_from_text(text, paths):
    assert parse_tree(text).paths == paths


@pytest.mark.parametrize(
    "text",
    [
        "",
        "oak",
        "chain",
        "chain:0",
        "chain:-3",
        "chain:99999999999",
        "chain:x",
        "cartesian:",
        "cartesian:0",
        "cartesian:2,-1",
        "cartesian:9999999999,2",
        "[[0], [0]]",
        "[[0, 1]]",
        "[[-1]]",
        "[[]]",
        "[0]",
        "[[true]]",
        "[[0.5]]",
        '["0"]',
        "[[0]",
        "[" * 5000,
        "[[1e99]]",
        "cartesian:" + ",".join(["9"] * 5000),
        f"[{[0] * 5000}]",
    ],
)
def test_bad_trees_are_one_clear_sentence(text):
    with pytest.raises(ExplorerError) as caught:
        parse_tree(text)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300


def test_a_tree_must_fit_the_heads():
    require_fit(chain(3), num_heads=3, top_k=1)
    with pytest.raises(ExplorerError, match="4 deep but only 3 heads"):
        require_fit(chain(4), num_heads=3, top_k=16)
    with pytest.raises(ExplorerError, match="rank 4"):
        require_fit(cartesian([5]), num_heads=3, top_k=4)


def test_cut_keeps_what_is_shallow_enough():
    tree = cartesian([2, 2, 2])
    assert cut(tree, 3) is tree
    assert cut(tree, 1).paths == ((0,), (1,))
    assert cut(tree, 0).n == 1


def test_the_bare_root():
    assert ROOT_ONLY.n == 1
    assert ROOT_ONLY.depth == ROOT_ONLY.width == 0
    assert ROOT_ONLY.children == ((),)
