"""A trace of format 1 as it was recorded: assets/traces/translation.json.gz of version 0.1."""

import gzip
import json
from pathlib import Path

import pytest

from explorer.analysis.speedup import race_figures
from explorer.records.errors import ExplorerError
from explorer.records.files import dump_trace, parse_trace, read_trace

OLD = Path(__file__).parent / "format-1.json.gz"


@pytest.fixture(scope="module")
def raw():
    return json.loads(gzip.decompress(OLD.read_bytes()))


@pytest.fixture(scope="module")
def trace():
    return read_trace(OLD)


def test_its_plain_lane_is_a_lane(trace, raw):
    rival = trace.rival
    assert raw["format_version"] == 1
    assert rival.header.settings.method == "plain"
    assert rival.header.prefill_ms == raw["plain_prefill_ms"]
    assert rival.new_token_ids == [token["token_id"] for token in raw["plain"]]
    assert rival.steps[0].context_length == len(trace.header.prompt_ids)
    assert [step.timings.step for step in rival.steps] == [t["milliseconds"] for t in raw["plain"]]
    assert [step.base_probs[0] for step in rival.steps] == [t["prob"] for t in raw["plain"]]


def test_what_it_says_of_the_race_is_what_it_said(trace, raw):
    tokens = sum(len(step["emitted"]) for step in raw["steps"])
    ours = sum(
        time for step in raw["steps"] for name, time in step["timings"].items() if name != "record"
    )
    theirs = sum(token["milliseconds"] for token in raw["plain"])
    expected = (tokens / ours) / (len(raw["plain"]) / theirs)
    assert race_figures(trace).speedup == pytest.approx(expected)


def test_it_is_saved_in_todays_format(trace):
    assert parse_trace(dump_trace(trace)) == trace
    assert trace.format_version == 2


def test_a_run_that_raced_nobody_has_no_rival(raw):
    alone = {name: value for name, value in raw.items() if not name.startswith("plain")}
    assert parse_trace(gzip.compress(json.dumps(alone).encode())).rival is None


@pytest.mark.parametrize("plain", [7, [7], [{"token_id": 1}], {"a": 1}, None])
def test_a_damaged_plain_lane_is_one_sentence(raw, plain):
    damaged = gzip.compress(json.dumps(raw | {"plain": plain}).encode())
    with pytest.raises(ExplorerError, match="does not hold a valid trace"):
        parse_trace(damaged)
