"""What steps have to read, counted from real tensors, and how fast this machine reads."""

import pytest
import torch

from explorer.measuring.bandwidth import measure_read_bandwidth
from explorer.measuring.bench import bench
from explorer.measuring.floor import reads_of, step_reads
from explorer.records.settings import decode_settings
from tests.tiny_lab import VOCAB, tiny_lab

HIDDEN, INNER, LAYERS, WORD = 32, 64, 2, 4  # of the tiny model, in float32
LAYER = 3 * HIDDEN * INNER + 2 * HIDDEN * HIDDEN + 2 * HIDDEN * HIDDEN // 2 + 2 * HIDDEN
ROTARY = 2 * 8  # its frequencies, as they are and as they were first
HEAD = VOCAB * HIDDEN


@pytest.fixture(scope="module")
def lab():
    return tiny_lab()


def test_every_matrix_counts_once_and_the_embedding_does_not(lab):
    reads = step_reads(lab.model)
    assert reads.weights == WORD * (LAYERS * LAYER + HIDDEN + ROTARY + HEAD)
    assert reads.heads == 0


def test_a_tied_lm_head_counts_though_it_is_the_embedding(lab):
    before = lab.model.step_bytes(0)
    own, network = lab.model.lm_head.weight, lab.model.network
    embedding = network.get_input_embeddings()
    table, head = embedding.weight, network.lm_head.weight
    try:
        lab.model.lm_head.weight = network.lm_head.weight = embedding.weight
        assert lab.model.step_bytes(0) == before
    finally:
        lab.model.lm_head.weight, network.lm_head.weight, embedding.weight = own, head, table


def test_the_cache_counts_what_it_holds(lab):
    from explorer.measuring.cost_curve import filled_cache

    layers = filled_cache(lab.model, 7).layers
    held = [part for layer in layers for part in layer.committed()]
    assert lab.model.step_bytes(7) - lab.model.step_bytes(0) == sum(t.nbytes for t in held)


def test_heads_count_once_and_a_draft_model_is_not_claimed(lab):
    settings = decode_settings(method="medusa")
    heads = lab.heads["medusa"].heads
    assert reads_of(lab, settings).heads == sum(p.nbytes for p in heads.parameters())
    assert reads_of(lab, decode_settings(method="plain")).heads == 0
    assert reads_of(lab, decode_settings(method="draft-model")) is None


def test_hydras_embeddings_and_token_maps_are_only_looked_up():
    heads = tiny_lab(architecture="hydra").heads["hydra"].heads
    assert heads.embeddings is not None
    assert heads.step_bytes() == sum(p.nbytes for p in heads.parameters())


def test_the_bandwidth_is_bytes_over_the_best_round():
    found = measure_read_bandwidth(torch.device("cpu"), size=1 << 20)
    assert 0.01 < found < 10_000


def test_steps_are_recorded_with_their_floor_where_the_bandwidth_is_known(lab):
    assert all(step.floor is None for step in lab.run("ab", max_new_tokens=4).steps)
    fast = tiny_lab()
    fast.read_bandwidth = 2.0
    steps = fast.run("ab", max_new_tokens=6).steps
    reads = reads_of(fast, decode_settings(method="medusa"))
    passed = [step for step in steps if step.timings.verify > 0]
    assert passed
    for step in passed:
        assert step.floor == reads.floor_at(step.context_length, 2.0)
    assert all(step.floor is None for step in steps if step.timings.verify == 0)


def test_a_benchmark_has_the_floor_of_every_method_it_can(lab, monkeypatch):
    monkeypatch.setattr("explorer.measuring.bench.WIDTHS", (1, 4))
    monkeypatch.setattr("explorer.measuring.bench.read_bandwidth", lambda device: 2.0)
    prompts = [{"prompt": "ab"}]
    report = bench(lab, prompts, methods=["medusa", "draft-model"], max_new_tokens=5)
    floor = report.floor
    assert floor.read_bandwidth_gb_s == 2.0
    assert report.peak_memory.bytes > 50e6
    assert floor.context_length == 4  # behind 2, 3, 4, 5 and 6 tokens
    assert floor.bytes == lab.model.step_bytes(4)
    assert floor.plain_step_ms == report.methods["plain"].step_ms
    assert floor.step_over_floor == pytest.approx(floor.plain_step_ms / floor.floor_ms)
    assert set(floor.methods) == {"medusa"}
    assert floor.methods["medusa"].bytes > floor.bytes
