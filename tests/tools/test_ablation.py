"""The ablation driver: one line a configuration, once, on the same hidden states."""

import json

import pytest

from explorer.records.errors import ExplorerError
from tests.tools.scripts import script
from tests.training.test_medusa1 import options
from tests.training.tiny import TinyBase


@pytest.fixture(scope="module")
def tool():
    return script("ablate_heads")


def test_every_configuration_is_trained_once(tool, tmp_path):
    base = options(tmp_path, out=tmp_path / "out", epochs=9, updates=4)
    configurations = {"default": {}, "heads-3": {"num_heads": 3}, "hard": {"soft_share": 0.0}}
    model = TinyBase()
    asked = tool.ablate(model, base, ["default", "heads-3"], configurations)
    next(asked)  # stopped after the first
    asked.close()
    passes = model.single_passes
    lines = list(tool.ablate(model, base, list(configurations), configurations))
    assert [line["name"] for line in lines] == ["heads-3", "hard"]
    assert model.single_passes == passes  # hidden states were there
    written = [json.loads(line) for line in (base.out / tool.LINES).read_text().splitlines()]
    assert [line["name"] for line in written] == list(configurations)
    assert [len(line["top1"]) for line in written] == [2, 3, 2]
    assert all(len(line["top3"]) == len(line["top1"]) for line in written)
    assert written[1]["bytes"] > written[0]["bytes"]
    assert all(line["updates"] == 4 for line in written)
    assert not list(tool.ablate(model, base, list(configurations), configurations))
    with pytest.raises(ExplorerError, match="other settings"):
        list(tool.ablate(model, base.model_copy(update={"updates": 5}), ["hard"], configurations))


def test_configurations_are_settings(tool):
    for changes in tool.CONFIGURATIONS.values():
        assert tool.TrainOptions(data="d", out="o", **changes)
        assert set(changes) <= set(tool.TrainOptions.model_fields)
