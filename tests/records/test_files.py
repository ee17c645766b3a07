import gzip
import json

import pytest
from pydantic import ValidationError

from explorer.records import files
from explorer.records.errors import ExplorerError
from explorer.records.files import dump_trace, parse_trace, read_trace, write_trace
from explorer.records.schema import Trace
from tests.ui.fakes import FakeLab


@pytest.fixture(scope="module")
def trace():
    return FakeLab().trace()


def packed(value: object) -> bytes:
    return gzip.compress(json.dumps(value).encode())


def test_read_back_equals_written(trace, tmp_path):
    path = write_trace(trace, tmp_path / "run.json.gz")
    assert read_trace(path) == trace


def test_equal_traces_give_equal_bytes_whatever_the_order_of_pieces(trace):
    shuffled = trace.model_copy(update={"pieces": dict(reversed(trace.pieces.items()))})
    assert dump_trace(shuffled) == dump_trace(trace) == dump_trace(parse_trace(dump_trace(trace)))


def test_missing_file_and_folder_are_one_sentence(trace, tmp_path):
    with pytest.raises(ExplorerError, match=r"Cannot read .*none"):
        read_trace(tmp_path / "none.json.gz")
    with pytest.raises(ExplorerError, match="Cannot read"):
        read_trace(tmp_path)
    for path in ("~no-such-user/x", "a\0b"):
        with pytest.raises(ExplorerError, match="Cannot read"):
            read_trace(path)
    with pytest.raises(ExplorerError, match="Cannot write"):
        write_trace(trace, tmp_path / "no" / "folder.json.gz")


@pytest.mark.parametrize("keep", [1, 12, 200, -1, -8])
def test_truncated(trace, keep):
    with pytest.raises(ExplorerError, match="damaged"):
        parse_trace(dump_trace(trace)[:keep])


def test_flipped_bytes(trace):
    data = bytearray(dump_trace(trace))
    data[len(data) // 2] ^= 0xFF
    with pytest.raises(ExplorerError):
        parse_trace(bytes(data))


@pytest.mark.parametrize("data", [b"", b"hello", b"{}", b"PK\x03\x04 zip"])
def test_not_gzip(data):
    with pytest.raises(ExplorerError):
        parse_trace(data)


@pytest.mark.parametrize("text", [b"", b"hello", b"{", b"[" * 100_000, b"\xff\xfe", b'{"a": NaN}'])
def test_not_json(text):
    with pytest.raises(ExplorerError, match="does not contain JSON"):
        parse_trace(gzip.compress(text))


@pytest.mark.parametrize(
    "value", [{}, [], 1, None, {"format_version": "1"}, {"format_version": True}]
)
def test_json_but_no_trace(value):
    with pytest.raises(ExplorerError, match="not a trace"):
        parse_trace(packed(value))


@pytest.mark.parametrize("version", [0, 3, 99])
def test_other_version_says_which_it_needs(trace, version):
    value = json.loads(trace.model_dump_json()) | {"format_version": version, "news": []}
    with pytest.raises(ExplorerError, match=f"needs .* trace format {version}"):
        parse_trace(packed(value), "run.json.gz")


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("header", "model"), None),
        (("steps", 3, "verdicts"), ["accepted"]),
        (("steps", 0, "tree"), 99),
        (("steps", 0, "accepted"), [400]),
        (("steps", 0, "draft_probs", 1), 1.5),
        (("rival", "steps", 0, "emitted"), [-1]),
        (("more",), "unknown field"),
    ],
)
def test_invalid_trace_names_the_place(trace, path, value):
    broken = json.loads(trace.model_dump_json())
    at = broken
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    with pytest.raises(ExplorerError, match="does not hold a valid trace") as error:
        parse_trace(packed(broken))
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 500


# The browser's reader has the same bounds (tests/js/validate.test.js).
@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("context_length",), 2**53),
        (("token_ids", 0), 2**60),
        (("timings", "verify"), 1e308),
        (("promise",), 1e308),
    ],
)
def test_numbers_that_a_browser_cannot_draw_are_refused(trace, path, value):
    broken = json.loads(trace.model_dump_json())
    at = broken["steps"][1]
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    with pytest.raises(ExplorerError, match=f"does not hold a valid trace .*{path[0]}"):
        parse_trace(packed(broken))


@pytest.mark.parametrize("lane", ["steps", "plain", "rival"])
def test_more_steps_than_a_run_has_are_refused_before_they_are_checked(trace, lane):
    many = [None] * (files.MAX_STEPS + 1)
    value = json.loads(trace.model_dump_json())
    value[lane] = {"steps": many} if lane == "rival" else many
    with pytest.raises(ExplorerError, match=r"more than 4,096 steps, which no run has: choose"):
        parse_trace(packed(value))


def test_bomb_is_refused_without_inflating_it(monkeypatch):
    bomb = gzip.compress(b"0" * (files.MAX_BYTES + 1))
    assert len(bomb) < 100_000
    with pytest.raises(ExplorerError, match="larger than 64 MB"):
        parse_trace(bomb)


def test_bomb_of_many_members(monkeypatch):
    monkeypatch.setattr(files, "MAX_BYTES", 2**20)
    member = gzip.compress(b"0" * 2**19)
    with pytest.raises(ExplorerError, match="larger than 1 MB"):
        parse_trace(member * 50)


def test_file_at_the_limit_is_read(trace, monkeypatch):
    monkeypatch.setattr(files, "MAX_BYTES", len(trace.model_dump_json().encode()))
    assert parse_trace(dump_trace(trace)).steps
    monkeypatch.setattr(files, "MAX_BYTES", files.MAX_BYTES - 1)
    with pytest.raises(ExplorerError, match="larger"):
        parse_trace(dump_trace(trace))


def test_file_that_repeats_the_same_bytes_is_refused(trace):
    fits = gzip.compress(b" " * (files.MAX_RATIO * files.SMALL) + b"{}")
    with pytest.raises(ExplorerError, match=r"^run.json.gz repeats the same few bytes .* choose"):
        parse_trace(fits, "run.json.gz")
    text = trace.model_dump_json().encode()
    with pytest.raises(ExplorerError, match="repeats the same few bytes"):
        parse_trace(gzip.compress(text + b" " * (files.MAX_RATIO * (len(text) + files.SMALL))))


def test_a_small_file_may_repeat_itself(trace):
    text = trace.model_dump_json().encode()
    room = files.MAX_RATIO * files.SMALL - len(text)
    assert parse_trace(gzip.compress(text + b" " * room)) == trace


def test_real_traces_stay_far_below_the_ratio(trace):
    packed_bytes = len(dump_trace(trace))
    assert len(trace.model_dump_json()) < files.MAX_RATIO * packed_bytes / 4


def lists_and_tables(value, path=()):
    """Paths of all lists and of the dictionaries that hold many of a kind."""
    if isinstance(value, list) or path in {("pieces",), ("header", "versions")}:
        yield path
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in items:
        if isinstance(item, (dict, list)):
            yield from lists_and_tables(item, (*path, key))


def test_the_first_wrong_entry_of_any_list_ends_the_check(trace):
    """Else a small file could hold millions of mistakes, each of them reported."""
    value = json.loads(trace.model_dump_json())
    state = {"window": [[1]], "guesses": [[1]], "pool_size": 1}
    tops = value["steps"][1]["base_top"]
    value["steps"][1] |= {"draft_top": tops, "thresholds": [0.5], "lookahead": state}
    wrong = [[-0.5, None] * 100, {str(-i): None for i in range(1, 200)}]
    seen = set()
    for path in lists_and_tables(value):
        kind = tuple(key for key in path if isinstance(key, str)), len(path)
        if kind in seen or path[:2] == ("steps", 0):
            continue
        seen.add(kind)
        *above, last = path
        at = value
        for key in above:
            at = at[key]
        kept, at[last] = at[last], wrong[isinstance(at[last], dict)]
        with pytest.raises(ValidationError) as error:
            Trace.model_validate(value)
        assert error.value.error_count() <= 4, path
        at[last] = kept
    assert len(seen) > 25


def test_a_file_of_many_mistakes_gets_a_sentence_without_a_list_of_them(trace):
    value = json.loads(trace.model_dump_json()) | {f"x{i}": 0 for i in range(5000)}
    with pytest.raises(ExplorerError, match="it has 5000 mistakes") as error:
        parse_trace(packed(value))
    assert error.value.__cause__ is None
