import base64
import json
from pathlib import Path

import pytest

from explorer.analysis.speedup import with_figures
from explorer.records.files import read_trace
from explorer.records.schema import Trace
from explorer.ui import old_traces
from explorer.ui.old_traces import upgraded

OLD = Path(__file__).parents[1] / "records" / "format-1.json.gz"


def test_a_file_of_format_1_comes_back_in_todays_format():
    answer = upgraded(base64.b64encode(OLD.read_bytes()).decode())
    assert Trace.model_validate_json(answer) == with_figures(read_trace(OLD))


@pytest.mark.parametrize("file", [None, 7, "no base64!", "aGVsbG8=", "", "é", "\ud800"])
def test_what_is_no_trace_is_one_sentence(file):
    assert json.loads(upgraded(file))["problem"].endswith(".")


def test_a_file_that_is_too_large_is_not_read(monkeypatch):
    monkeypatch.setattr(old_traces, "parse_trace", None)
    assert "MB" in json.loads(upgraded("A" * 6_000_000))["problem"]
