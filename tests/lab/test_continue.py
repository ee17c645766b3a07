"""Going on from where a run ended: the same tokens as of a run that was never broken off."""

import gzip
import json

import pytest

from explorer.records.continuation import Continuation
from explorer.records.errors import ExplorerError
from explorer.records.events import collect
from explorer.records.files import dump_trace, parse_trace
from explorer.records.settings import DecodeSettings
from tests.tiny_lab import tiny_lab

METHODS = ["plain", "medusa", "draft-model", "lookahead", "prompt-lookup"]


@pytest.fixture(scope="module")
def tiny():
    return tiny_lab()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("broken", [1, 5])
def test_a_continued_text_is_the_unbroken_one(tiny, method, broken):
    whole = tiny.run("abc", method="plain", max_new_tokens=16).new_token_ids
    first = tiny.run("abc", method="medusa", max_new_tokens=broken)
    second = tiny.run(continue_from=first, method=method, max_new_tokens=16 - broken)
    assert first.new_token_ids + second.new_token_ids == whole


def test_with_the_same_seed_a_sampled_text_goes_on_as_if_unbroken(tiny):
    settings = {"temperature": 0.9, "seed": 5}
    whole = tiny.run("abc", max_new_tokens=12, **settings).new_token_ids
    first = tiny.run("abc", max_new_tokens=7, **settings)
    second = tiny.run(continue_from=first, max_new_tokens=5, **settings)
    assert first.new_token_ids + second.new_token_ids == whole


def test_the_header_says_what_is_continued(tiny):
    first = tiny.run("abc", max_new_tokens=4, raw_prompt=True)
    # As a model with a chat template would have recorded it; the tiny one has none.
    settings = first.header.settings.model_copy(update={"system_prompt": "Be brief."})
    first = first.model_copy(
        update={"header": first.header.model_copy(update={"settings": settings})}
    )
    second = tiny.run_race(continue_from=first, max_new_tokens=3, tree="chain:1")
    third = tiny.run(continue_from=second, max_new_tokens=2)
    assert first.header.continued_tokens == 0
    assert second.header.prompt_ids == [*first.header.prompt_ids, *first.new_token_ids]
    assert (second.header.continued_tokens, third.header.continued_tokens) == (4, 7)
    assert third.header.prompt == "abc"
    # How the prompt was made stays as it was; all else is what was asked for now.
    settings = third.header.settings
    assert (settings.system_prompt, settings.raw_prompt) == ("Be brief.", True)
    assert (second.header.settings.tree, settings.tree) == ("chain:1", "auto")
    assert len(second.rival.steps) == 3


def test_a_trace_from_a_file_is_continued(tiny):
    whole = tiny.run("abc", max_new_tokens=9).new_token_ids
    first = parse_trace(dump_trace(tiny.run("abc", max_new_tokens=4)))
    second = tiny.run(continue_from=first, max_new_tokens=5)
    assert first.new_token_ids + second.new_token_ids == whole
    assert parse_trace(dump_trace(second)) == second


def test_a_trace_from_before_there_was_continuing_opens(tiny):
    trace = tiny.run("abc", max_new_tokens=4)
    record = json.loads(gzip.decompress(dump_trace(trace)))
    del record["header"]["continued_tokens"]
    assert parse_trace(gzip.compress(json.dumps(record).encode())) == trace


def test_more_continued_tokens_than_there_are_is_no_trace(tiny):
    record = json.loads(gzip.decompress(dump_trace(tiny.run("abc", max_new_tokens=4))))
    record["header"]["continued_tokens"] = 4
    with pytest.raises(ExplorerError, match="continued_tokens"):
        parse_trace(gzip.compress(json.dumps(record).encode()))


def test_after_the_end_of_the_text_nothing_follows():
    tiny = tiny_lab()
    trace = tiny.run("abc", max_new_tokens=6)
    tiny.model.eos_ids = frozenset(trace.new_token_ids[:3])
    ended = tiny.run("abc", max_new_tokens=6)
    with pytest.raises(ExplorerError, match="has ended its text"):
        tiny.run(continue_from=ended)


def test_at_the_context_limit_nothing_follows():
    tiny = tiny_lab()
    tiny.model.context_length = 12
    full = tiny.run("abc", max_new_tokens=100)
    assert len(full.header.prompt_ids) + len(full.new_token_ids) == 12
    with pytest.raises(ExplorerError, match="has 12 tokens, and the model reads 12 in all"):
        tiny.run(continue_from=full)


def test_a_run_without_a_token_has_nothing_to_continue(tiny):
    header = tiny.run("abc", max_new_tokens=1).header
    with pytest.raises(ExplorerError, match="wrote no token"):
        collect(tiny.decode(Continuation(header, []), DecodeSettings()))


@pytest.mark.parametrize("token", [0, 5000])
def test_the_trace_of_another_vocabulary_is_refused(tiny, token):
    trace = tiny.run("abc", max_new_tokens=4)
    header = trace.header.model_copy(update={"prompt_ids": [token], "model": "Other-1B"})
    pieces = trace.pieces | {0: trace.pieces[trace.new_token_ids[0]]}
    other = trace.model_copy(update={"header": header, "pieces": pieces})
    with pytest.raises(ExplorerError, match="written by Other-1B, whose tokens tiny does not"):
        tiny.run(continue_from=other)


def test_a_prompt_or_a_trace_but_not_both(tiny):
    trace = tiny.run("abc", max_new_tokens=2)
    for arguments in ({}, {"prompt": "abc", "continue_from": trace}):
        with pytest.raises(ExplorerError, match="one of the two"):
            tiny.run(**arguments)
