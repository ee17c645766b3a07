"""The invariants on the default model, in the default backend: bit for bit."""

from __future__ import annotations

import pytest
import torch

from explorer.analysis.tree_names import cartesian
from explorer.decoding.cache import KVCache
from explorer.decoding.loop import prefill
from explorer.measuring.memory import extra_memory
from explorer.models.storages import storages, tensors_of
from explorer.records.errors import ExplorerError
from explorer.records.events import TraceBuilder
from explorer.records.files import dump_trace, read_trace, write_trace
from explorer.records.settings import DecodeSettings
from explorer.records.text import join_pieces

PROMPTS = [
    "Explain what a binary search is, with a Python example.",
    "Write three emojis 🙂🎉 and the word naïve in 中文.",
    "1 + 1 =",
]


def race(lab, prompt=PROMPTS[0], **settings):
    builder = TraceBuilder()
    for event in lab.race(prompt, DecodeSettings(**settings)):
        builder.add(event)
    return builder.trace()


def ids_of(lab, prompt: str) -> list[int]:
    return lab.encode(prompt, DecodeSettings())


@pytest.fixture(scope="module")
def tree_pass(lab):
    """A tree pass behind a prompt: (prompt ids, tree, tokens, hidden, logits, cache)."""
    model, prompt, tree = lab.model, ids_of(lab, PROMPTS[0]), cartesian([3, 2, 1, 1])
    cache = KVCache.of(model)
    prefill(model, prompt, cache)
    tokens = torch.arange(tree.n) * 977 % model.vocab_size
    hidden = model.forward(tokens, tree.depths, tree.mask, cache)
    return prompt, tree, tokens, hidden, model.logits(hidden), cache


def test_the_default_backend_is_int4_and_bit_exact(lab):
    assert (lab.model.backend, lab.model.bit_exact) == ("int4", True)
    assert not lab.model.lm_head.padded
    assert lab.model.context_length == 8192


def test_a_nodes_hidden_state_and_logits_are_those_of_a_plain_pass(lab, tree_pass):
    prompt, tree, tokens, hidden, logits, _ = tree_pass
    for row in (0, 2, 7, tree.n - 1):
        path = tokens[tree.path_to(row)].tolist()
        alone = prefill(lab.model, prompt + path, KVCache.of(lab.model))
        assert torch.equal(alone[0], hidden[row])
        assert torch.equal(lab.model.logits(alone)[0], logits[row])


def test_after_commit_the_cache_is_that_of_a_plain_pass(lab, tree_pass):
    prompt, tree, tokens, _, _, cache = tree_pass
    path = tree.path_to(tree.n - 1)
    cache.commit(path)
    alone = KVCache.of(lab.model)
    prefill(lab.model, prompt + tokens[path].tolist(), alone)
    for ours, theirs in zip(cache.layers, alone.layers, strict=True):
        for a, b in zip(ours.committed(), theirs.committed(), strict=True):
            assert torch.equal(a, b)


@pytest.mark.parametrize("prompt", PROMPTS)
@pytest.mark.parametrize("tree", ["auto", "chain:3", "cartesian:4,3,2"])
def test_greedy_race_is_identical(lab, prompt, tree):
    trace = race(lab, prompt, tree=tree, max_new_tokens=32)
    assert trace.new_token_ids == trace.rival.new_token_ids
    assert len(trace.new_token_ids) in range(1, 33)


def compare(lab, prompt, methods, **settings):
    runs = {method: TraceBuilder() for method in methods}
    for method, event in lab.compare(prompt, DecodeSettings(**settings), methods):
        runs[method].add(event)
    return {method: run.trace() for method, run in runs.items()}


@pytest.mark.parametrize("prompt", [PROMPTS[0], "Repeat: one two three, one two three, one two"])
def test_every_greedy_method_writes_plains_text(lab, prompt):
    methods = ["plain", "medusa", "draft-model", "lookahead", "prompt-lookup"]
    traces = compare(lab, prompt, methods, max_new_tokens=32, draft_layers=3)
    texts = {method: trace.new_token_ids for method, trace in traces.items()}
    assert all(text == texts["plain"] for text in texts.values())


@pytest.mark.parametrize("temperature", [0.0, 0.9])
def test_a_draft_that_is_the_model_itself_accepts_everything(lab, temperature):
    layers = lab.model.config.num_hidden_layers
    trace = compare(
        lab,
        PROMPTS[0],
        ["draft-model"],
        max_new_tokens=16,
        draft_layers=layers,
        temperature=temperature,
    )["draft-model"]
    assert [len(step.emitted) for step in trace.steps] == [4] * 4


def test_sampled_race_is_identical_with_the_same_seed(lab):
    trace = race(lab, temperature=0.8, top_p=0.9, tree="chain:2", max_new_tokens=24, seed=7)
    assert trace.new_token_ids == trace.rival.new_token_ids


def test_a_trace_read_back_is_the_trace_written(lab, tmp_path):
    trace = race(lab, PROMPTS[1], max_new_tokens=24, tree="cartesian:3,2")
    write_trace(trace, tmp_path / "run.json.gz")
    assert read_trace(tmp_path / "run.json.gz") == trace


def test_a_trace_records_every_step(lab):
    trace = race(lab, max_new_tokens=24, tree="cartesian:3,2")
    model = lab.model
    context = len(trace.header.prompt_ids)
    found = [trace.header.prompt_position]
    for step in trace.steps:
        assert step.context_length == context
        assert step.verdicts.count("accepted") == len(step.accepted) - 1
        assert step.emitted == [step.token_ids[row] for row in step.accepted]
        assert all(t in trace.pieces for t in (*step.token_ids, *step.choices) if t >= 0)
        context += len(step.emitted)
        found += step.positions
    # One record per position from the last prompt token on, but for the last emitted one.
    found.sort(key=lambda position: position.index)  # they may be found late
    indices = [position.index for position in found]
    assert indices == list(range(len(trace.header.prompt_ids) - 1, context - 1))
    for position in found:
        following = position.index + 1 - len(trace.header.prompt_ids)
        assert position.base_choice == trace.new_token_ids[following]  # greedy
        assert len(position.heads) == trace.header.num_heads
        assert all(len(head.ids) == 16 for head in position.heads)
    text = join_pieces(trace.pieces, trace.new_token_ids)
    assert text == model.tokenizer.decode(trace.new_token_ids)


def test_recorded_figures_are_those_of_the_logits(lab):
    trace = race(lab, max_new_tokens=12, tree="cartesian:3,2")
    step = next(step for step in trace.steps if len(step.accepted) > 1)
    prompt = [*trace.header.prompt_ids, *trace.new_token_ids]
    prompt = prompt[: step.context_length + 1]  # up to the root
    logits = lab.model.logits(prefill(lab.model, prompt, KVCache.of(lab.model)))[0]
    probs = torch.softmax(logits, -1)
    assert step.choices[0] == int(logits.argmax())
    best = probs.topk(5)
    assert step.base_top[0].ids == best.indices.tolist()
    assert step.base_top[0].probs == pytest.approx(best.values.tolist(), abs=1e-5)
    for row, parent in enumerate(trace.trees[step.tree].parents):
        if parent == 0:
            token = step.token_ids[row]
            assert step.base_probs[row] == pytest.approx(float(probs[token]), abs=1e-5)
            assert step.base_ranks[row] == int((logits > logits[token]).sum())


def test_guesses_are_drawn_from_the_predictions_on_record(lab):
    """At temperature 1 what a step drew from is what its heads predicted, in every figure."""
    drawn = {"candidates": "drawn", "temperature": 1.0, "tree": "cartesian:2,2"}
    trace = lab.run(PROMPTS[0], max_new_tokens=24, **drawn)
    positions = [trace.header.prompt_position, *(p for step in trace.steps for p in step.positions)]
    heads = {position.index: position.heads for position in positions}
    compared = 0
    for step in trace.steps:
        depths = trace.trees[step.tree].depths
        for row, offered in enumerate(step.draft_top or ()):
            predicted = heads[step.context_length - 1][depths[row]] if offered.ids else offered
            assert predicted.ids[: len(offered.ids)] == offered.ids
            shown = predicted.probs[: len(offered.ids)]
            assert shown == pytest.approx(offered.probs, abs=1e-5)
            compared += len(offered.ids)
    assert compared > 50


def test_memory_counts_every_form_that_is_held(lab):
    """Heads keep their stored weights beside those that a draft reads; so does the LM head."""
    model, heads = lab.model, lab.heads["medusa"].heads
    found = extra_memory(lab, DecodeSettings())
    read = heads.compiled.num_bytes if heads.compiled else 0
    assert found.weights_bytes == sum(storages(tensors_of(heads)).values()) + read
    held = storages([*tensors_of(model.network), model.lm_head.weight, model.lm_head.stored])
    assert found.base_bytes == sum(held.values())
    assert found.parameters / found.base_parameters == pytest.approx(0.073, abs=0.001)


def test_bad_input_is_one_sentence_and_the_lab_goes_on(lab):
    for prompt in ("", "   \n", "x " * 20_000):
        with pytest.raises(ExplorerError):
            race(lab, prompt)
    with pytest.raises(ExplorerError, match="deep but only"):
        race(lab, tree="chain:9")
    with pytest.raises(ExplorerError, match="no method"):
        race(lab, method="telepathy")
    odd = race(lab, "\ud83d half an emoji \x00\u202e", max_new_tokens=2)
    assert dump_trace(odd)  # what the page offers for saving


def test_concurrent_runs_do_not_disturb_each_other(lab):
    from concurrent.futures import ThreadPoolExecutor

    expected = [race(lab, prompt, max_new_tokens=12).new_token_ids for prompt in PROMPTS]
    with ThreadPoolExecutor(3) as pool:
        got = pool.map(lambda p: race(lab, p, max_new_tokens=12).new_token_ids, PROMPTS)
    assert list(got) == expected


def test_cancel_ends_both_lanes(lab):
    import threading

    cancel = threading.Event()
    builder = TraceBuilder()
    for event in lab.race(PROMPTS[0], DecodeSettings(max_new_tokens=200), cancel):
        builder.add(event)
        if len(builder.steps) == 3:
            cancel.set()
    trace = builder.trace()
    assert len(trace.steps) < 8
    assert len(trace.rival.steps) < 12


def test_a_plain_run_records_the_heads_predictions_too(lab):
    builder = TraceBuilder()
    for event in lab.decode(PROMPTS[2], DecodeSettings(method="plain", max_new_tokens=6)):
        builder.add(event)
    trace = builder.trace()
    found = [trace.header.prompt_position, *(p for step in trace.steps for p in step.positions)]
    found.sort(key=lambda position: position.index)
    first = len(trace.header.prompt_ids) - 1
    assert [position.index for position in found] == list(range(first, first + len(trace.steps)))
    assert [position.base_choice for position in found] == trace.new_token_ids


@pytest.mark.parametrize("settings", [{}, {"temperature": 0.8, "seed": 4}])
def test_a_continued_text_is_the_unbroken_one(lab, settings):
    whole = lab.run(PROMPTS[0], method="plain", max_new_tokens=32, **settings).new_token_ids
    first = lab.run(PROMPTS[0], max_new_tokens=13, tree="cartesian:3,2", **settings)
    second = lab.run(continue_from=first, max_new_tokens=19, tree="chain:2", **settings)
    assert first.new_token_ids + second.new_token_ids == whole
