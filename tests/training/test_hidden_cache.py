import json

import pytest
import torch

from explorer.records.errors import ExplorerError
from explorer.training import hidden_cache as module
from explorer.training.data import Conversation
from explorer.training.evaluate import targets_of
from explorer.training.hidden_cache import hidden_cache, length_batches
from tests.training.tiny import TinyBase, counting_text


def conversations(count: int = 12) -> list[Conversation]:
    return [Conversation(tuple(c["prompt"]), tuple(c["response"])) for c in counting_text(count)]


def test_rows_are_the_models_own_hidden_states(tmp_path):
    model, text = TinyBase(), conversations()
    cache = hidden_cache(model, text, tmp_path)
    for index, c in enumerate(text):
        rows = cache.rows_of([index])
        alone = model.hidden_states(torch.tensor(c.prompt + c.response))
        expected = alone[len(c.prompt) - 1 : -1].bfloat16().float()
        torch.testing.assert_close(cache.hidden[rows].float(), expected, atol=0.02, rtol=0.02)
        assert cache.tokens[rows].tolist() == list(c.response)


def test_cache_is_reused_and_keyed_by_text(tmp_path):
    events = []
    hidden_cache(TinyBase(), conversations(), tmp_path, events.append)
    assert events[-1]["done"] == events[-1]["total"]
    events.clear()
    hidden_cache(TinyBase(), conversations(), tmp_path, events.append)
    assert events == []
    hidden_cache(TinyBase(), conversations(11), tmp_path, events.append)
    assert events != []


def test_an_interrupted_cache_is_finished(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "TOKENS_PER_BATCH", 64)
    whole = hidden_cache(TinyBase(), conversations(), tmp_path / "whole")

    class StoppedError(Exception):
        pass

    def stop(event):
        if event["done"] == 2:
            raise StoppedError

    with pytest.raises(StoppedError):
        hidden_cache(TinyBase(), conversations(), tmp_path / "broken", stop)
    events = []
    resumed = hidden_cache(TinyBase(), conversations(), tmp_path / "broken", events.append)
    assert events[0]["done"] == 3
    assert torch.equal(resumed.hidden, whole.hidden)


def test_models_that_cannot_be_batched_go_one_by_one(tmp_path, monkeypatch):
    model = TinyBase()
    batched = hidden_cache(model, conversations(), tmp_path / "batched")
    monkeypatch.setattr(model.network.model, "forward", None)  # a padded pass fails
    reference = TinyBase()
    monkeypatch.setattr(model, "hidden_states", reference.hidden_states)
    single = hidden_cache(model, conversations(), tmp_path / "single")
    assert reference.single_passes >= 12
    torch.testing.assert_close(single.hidden.float(), batched.hidden.float(), atol=0.02, rtol=0.02)


def test_a_place_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ExplorerError, match="cache folder"):
        hidden_cache(TinyBase(), conversations(), tmp_path / "file")


def test_a_spoilt_marker_starts_again(tmp_path):
    cache = hidden_cache(TinyBase(), conversations(), tmp_path)
    marker = next(tmp_path.glob("*/done.json"))
    assert json.loads(marker.read_text())["batches"] >= 1
    marker.write_text("{")
    assert torch.equal(hidden_cache(TinyBase(), conversations(), tmp_path).hidden, cache.hidden)


def test_batches_hold_every_conversation_once(monkeypatch):
    monkeypatch.setattr(module, "TOKENS_PER_BATCH", 100)
    text = conversations(40)
    batches = length_batches(text, module.TOKENS_PER_BATCH)
    assert sorted(i for batch in batches for i in batch) == list(range(40))
    for batch in batches:
        longest = max(len(text[i].prompt) + len(text[i].response) for i in batch)
        assert longest * len(batch) <= 100


def test_head_k_learns_token_t_plus_1_plus_k(tmp_path):
    text = [Conversation((1, 2), (10, 11, 12, 13)), Conversation((3,), (20, 21))]
    cache = hidden_cache(TinyBase(), text, tmp_path)
    targets, valid = targets_of(cache, torch.arange(6), 3)
    expected = [[11, 12, 13], [12, 13], [13], [], [21], []]
    assert [t[v].tolist() for t, v in zip(targets, valid, strict=True)] == expected
