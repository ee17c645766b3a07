import gzip
import json

import pytest

from explorer.errors import ExplorerError
from explorer.tracing import files
from explorer.tracing.files import dump_trace, parse_trace, read_trace, write_trace
from tests.ui.fakes import FakeExplorer


@pytest.fixture(scope="module")
def trace():
    return FakeExplorer().trace()


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


@pytest.mark.parametrize("version", [0, 2, 99])
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
        (("plain", 0, "milliseconds"), -1),
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
