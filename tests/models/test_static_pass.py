"""Passes of fixed shapes give what eager passes give, unrecorded and replayed."""

import weakref

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from explorer.decoding.cache import KVCache
from explorer.decoding.tree import Tree, causal_mask
from explorer.kernels.graphs import Recordings, to_host
from explorer.kernels.path import follow_rows
from explorer.models.static_cache import bucket
from explorer.models.static_pass import SIZES, StaticPass, rounded
from tests.decoding import tiny
from tests.models.tape import TapeRecorder
from tests.tiny_lab import VOCAB, tiny_model

TREES = [
    Tree(((0,), (1,), (0, 0))),
    Tree(((0,), (0, 0), (0, 0, 0))),
    Tree(()),
    Tree(((0,), (1,), (2,), (1, 0), (1, 1), (1, 1, 0))),
]


def with_static(model, recorder=None):
    model.static = StaticPass(model, Recordings(recorder, "no GPU"))
    return model


@st.composite
def random_trees(draw):
    paths = [()]
    for _ in range(draw(st.integers(0, 18))):
        parent = draw(st.sampled_from(paths))
        paths.append((*parent, sum(path[:-1] == parent for path in paths if path)))
    return Tree(tuple(paths[1:]))


def passes(model, cache, steps):
    """Logits of causal and tree passes one after the other, each committed along a path."""
    found = []
    for tokens, tree, row in steps:
        depths = tree.depths if tree else torch.arange(len(tokens))
        mask = tree.mask if tree else causal_mask(len(tokens))
        found.append(model.logits(model.forward(tokens, depths, mask, cache)))
        cache.commit(tree.path_to(row) if tree else range(len(tokens)))
    return torch.cat(found)


def steps_of(seed, shapes):
    generator = torch.Generator().manual_seed(seed)
    steps = [(torch.randint(VOCAB - 1, (11,), generator=generator), None, 0)]
    for tree in shapes:
        row = int(torch.randint(tree.n, (1,), generator=generator))
        steps.append((torch.randint(VOCAB - 1, (tree.n,), generator=generator), tree, row))
    return steps


EXACT = with_static(tiny_model())


@settings(max_examples=25, deadline=None)
@given(shapes=st.lists(random_trees(), min_size=1, max_size=4), seed=st.integers(0, 99))
def test_static_passes_and_commits_are_bit_equal_to_eager_ones(shapes, seed):
    steps = steps_of(seed, shapes)
    eager, static = KVCache.of_network(EXACT), EXACT.static.cache()
    assert torch.equal(passes(EXACT, static, steps), passes(EXACT, eager, steps))
    assert static.length == eager.length
    for ours, theirs in zip(static.layers, eager.layers, strict=True):
        for a, b in zip(ours.committed(), theirs.committed(), strict=True):
            assert torch.equal(a, b)


@pytest.mark.parametrize("architecture", ["llama", "mistral", "gemma2", "phi3"])
def test_replays_are_what_passes_are(architecture):
    """A tape keeps every Python number of its first run, so none may depend on the step."""
    model = tiny.tiny_model(architecture)
    model.network.set_attn_implementation("eager" if architecture == "gemma2" else "sdpa")
    with_static(model, TapeRecorder())
    steps = steps_of(3, [*TREES, *TREES, *TREES])
    recorded = passes(model, model.static.cache(), steps)
    assert model.static.recordings.active, model.static.recordings.why_not
    eager = passes(model, KVCache.of_network(model), steps)
    assert (recorded - eager).abs().max() < 1e-4 * eager.abs().max()
    # 16, 4, 1 and 8 rows, of the body and of the LM head: trees of one size share a recording.
    assert model.static.recordings.count == 8


def test_a_text_grows_out_of_its_arena():
    steps = steps_of(5, TREES * 40)
    cache = EXACT.static.cache()
    first = cache.arena
    first_capacity = first.capacity
    eager = KVCache.of_network(EXACT)
    assert torch.equal(passes(EXACT, cache, steps), passes(EXACT, eager, steps))
    assert cache.length > first_capacity or cache.arena is first
    assert EXACT.static.cache(300).arena.capacity >= 300


def test_recordings_outlive_the_sequence_they_were_made_for():
    model = tiny.tiny_model()
    model.network.set_attn_implementation("sdpa")
    with_static(model, TapeRecorder())
    steps = steps_of(1, TREES)
    passes(model, model.static.cache(), steps)
    count = model.static.recordings.count
    again = passes(model, model.static.cache(), steps)
    assert model.static.recordings.count == count
    at_once = model.static.cache(), model.static.cache()
    assert at_once[0].arena is not at_once[1].arena
    assert torch.equal(again, passes(model, at_once[0], steps))


def test_an_arena_that_became_too_small_is_freed_at_once():
    model = with_static(tiny.tiny_model(), TapeRecorder())
    model.network.set_attn_implementation("sdpa")
    cache = model.static.cache()
    passes(model, cache, steps_of(1, TREES))
    small = weakref.ref(cache.arena)
    passes(model, cache, steps_of(2, TREES * 30))
    assert cache.arena.capacity >= 512
    assert small() is None
    del cache
    again = model.static.cache()
    assert again.arena.capacity >= 512  # the larger one came back
    large = weakref.ref(again.arena)
    del again
    model.context_length = 4096
    assert model.static.cache(4000).arena.capacity >= 4000
    assert large() is None


class Unwilling:
    def record(self, work):
        raise RuntimeError("operation not permitted when stream is capturing\nmore")


def test_what_cannot_be_recorded_runs_eagerly_and_says_why():
    model = with_static(tiny.tiny_model(), Unwilling())
    model.notes.clear()
    steps = steps_of(2, TREES)
    eager = passes(model, KVCache.of_network(model), steps)
    assert (passes(model, model.static.cache(), steps) - eager).abs().max() < 1e-4
    assert len(model.notes) == 1
    assert "not permitted when stream is capturing" in model.notes[0]
    assert "more" not in model.notes[0]


def test_a_pass_makes_python_wait_for_nothing():
    """The tape refuses what would read a number from the device, as a capture does."""
    tape = TapeRecorder()
    with pytest.raises(RuntimeError, match="capturing"):
        tape.record(lambda: torch.zeros(3)[: int(torch.tensor(2))])


@given(slots=st.integers(1, 40_000))
def test_buckets_hold_what_they_round_up(slots):
    size = bucket(slots)
    assert slots <= size < max(slots + 256, 1.5 * slots)
    assert bucket(size) == size
    assert size % 64 == 0


def test_sizes():
    assert [rounded(n) for n in (1, 2, 3, 17, 64, 65, 128, 129)] == [1, 2, 4, 24, 64, 80, 128, 129]
    assert list(SIZES) == sorted(SIZES)


@settings(max_examples=50, deadline=None)
@given(tree=random_trees(), seed=st.integers(0, 999))
def test_the_path_found_on_the_device_is_the_one_followed_on_the_host(tree, seed):
    from explorer.decoding.acceptance import follow

    generator = torch.Generator().manual_seed(seed)
    ranks = [path[-1] for path in tree.paths]
    tokens = torch.tensor([0, *ranks])  # siblings differ, as a drafter's do
    choices = torch.randint(3, (tree.n,), generator=generator)
    last, order = follow_rows(tokens, choices, tree.depths, tree.mask)
    path, _ = follow(tree, tokens.tolist(), choices.tolist().__getitem__)
    assert int(last) == path[-1]
    assert order[: len(path)].tolist() == path


def test_one_copy_brings_tensors_of_all_kinds():
    given_ = [torch.tensor([7]), torch.rand(2, 3), torch.arange(5), torch.rand(1).double()]
    for there, here in zip(given_, to_host(given_), strict=True):
        assert there.dtype == here.dtype
        assert torch.equal(there, here)
