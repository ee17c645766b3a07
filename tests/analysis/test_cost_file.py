import pytest

from explorer.analysis.cost_file import (
    MAX_BYTES,
    BatchCurve,
    CostFile,
    parse_costs,
    read_costs,
    shipped_costs,
    write_costs,
)
from explorer.records.errors import ExplorerError
from tests.choices import curve


def costs(**changes):
    curves = [
        BatchCurve(batch=b, curve=curve(0.1, c, one_row_ms=10.0))
        for b, c in [(1, 512), (1, 128), (4, 128)]
    ]
    fields = {
        "model": "tiny",
        "backend": "int4",
        "device": "a laptop",
        "measured": "2026-01-01T00:00:00+00:00",
        "heads_ms": 1.5,
        "rest_ms": 0.5,
        "curves": curves,
    }
    return CostFile(**fields | changes)


def test_a_file_comes_back_and_is_small(tmp_path):
    path = write_costs(costs(), tmp_path / "new" / "costs.json")
    assert read_costs(path) == costs()
    assert path.stat().st_size < 4000


def test_batches_and_contexts_are_found():
    found = costs()
    assert found.batches == [1, 4]
    assert [each.context_length for each in found.curves_at(1)] == [128, 512]
    assert found.overhead(1) == pytest.approx(0.2)
    assert found.overhead(4) == pytest.approx(0.8)
    with pytest.raises(ExplorerError, match="batch sizes 1, 4, not at 2"):
        found.curves_at(2)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "no JSON"),
        ("[" * 9999, "no JSON"),
        ("[]", "no JSON object"),
        ('{"format_version": 2}', "no file of costs"),
        (" " * (MAX_BYTES + 1), "more than 256 KB"),
        (costs().model_dump_json().replace('"heads_ms":1.5', '"heads_ms":-1'), "heads_ms"),
        (costs().model_dump_json().replace('"batch":4', '"batch":1'), "two curves"),
    ],
)
def test_what_is_no_file_of_costs_is_one_sentence(text, said):
    with pytest.raises(ExplorerError, match=said):
        parse_costs(text)


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(ExplorerError, match="check the path"):
        read_costs(tmp_path / "none.json")
    (tmp_path / "file").write_text("")
    with pytest.raises(ExplorerError, match="choose another place"):
        write_costs(costs(), tmp_path / "file" / "costs.json")


def test_the_shipped_files_cover_each_backend_of_the_default_model_and_batches():
    shipped = shipped_costs()
    assert {found.backend for found in shipped.values()} >= {"int4", "bf16", "nf4", "fp32"}
    assert any(found.batches == [1, 2, 4, 8] for found in shipped.values())
