"""Calibrations on disk: found again, and measured again where they are no use."""

import json

import pytest

from explorer.measuring import calibration_file as files
from explorer.records.errors import ExplorerError
from tests.choices import KEY, at_each_context, curve, make

CONTEXT_TREE = {
    "context_length": 128,
    "tree": [[0]],
    "expected_tokens_per_step": 1.5,
    "expected_speedup": 1.2,
}


pytestmark = pytest.mark.usefixtures("own_cache")


def test_file_round_trip(own_cache):
    found = at_each_context(curve(0.05))
    path = files.save_calibration(found)
    assert path.parent == own_cache / "calibration"
    assert files.load_calibration(KEY) == found
    assert json.loads(path.read_text())["tree"]
    assert [p.name for p in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("field", ["model", "heads", "backend", "device"])
def test_another_model_or_machine_has_another_file(field):
    files.save_calibration(at_each_context(curve(0.05)))
    other = KEY.model_copy(update={field: "other"})
    assert other.file_name != KEY.file_name
    assert files.load_calibration(other) is None


def test_a_file_under_a_wrong_name_is_not_believed():
    path = files.save_calibration(at_each_context(curve(0.05)))
    other = KEY.model_copy(update={"backend": "nf4"})
    path.rename(path.with_name(other.file_name))
    assert files.load_calibration(other) is None


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"format_version": 2}', "[" * 100_000])
def test_a_damaged_file_counts_as_none(damage):
    path = files.save_calibration(at_each_context(curve(0.05)))
    path.write_text(damage)
    assert files.load_calibration(KEY) is None


def test_a_file_with_a_broken_tree_counts_as_none():
    path = files.save_calibration(at_each_context(curve(0.05)))
    content = json.loads(path.read_text()) | {"tree": [[0, 0]]}
    path.write_text(json.dumps(content))
    assert files.load_calibration(KEY) is None


def test_a_folder_that_ships_with_the_heads_is_looked_at_too(tmp_path):
    files.save_calibration(at_each_context(curve(0.05)), tmp_path / "heads")
    assert files.load_calibration(KEY) is None
    assert files.load_calibration(KEY, [tmp_path / "heads"]) is not None


def test_an_unwritable_folder_is_one_clear_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ExplorerError, match="cannot be saved"):
        files.save_calibration(make(), tmp_path / "file" / "below")


@pytest.mark.parametrize(
    "damage",
    [
        {"by_context": []},
        {"by_context": [{**CONTEXT_TREE, "context_length": 77}]},
        {"by_context": [{**CONTEXT_TREE, "tree": [[0, 0]]}]},
        {"by_context": [{**CONTEXT_TREE, "expected_speedup": float("nan")}]},
        {"head_accuracy": [], "by_depth": True},
        {"heads_ms": float("inf")},
        {"cost_curve": [curve(0.1).model_dump() | {"ratios": [0.0] * 5}]},
        {"cost_curve": [curve(0.1).model_dump() | {"ratios": [1, 1, 1, 1, float("nan")]}]},
    ],
)
def test_what_cannot_be_decoded_with_is_measured_again(damage):
    found = at_each_context(curve(0.1))
    path = files.save_calibration(found)
    assert files.load_calibration(KEY) == found
    path.write_text(json.dumps(found.model_dump() | damage))
    assert files.load_calibration(KEY) is None
