"""The log of a run, and runs that end after a number of updates."""

import hashlib
import json

import pytest
import torch

from explorer.heads.checkpoints import load_heads
from explorer.records.errors import ExplorerError
from explorer.training.data import fingerprint
from explorer.training.log import LOG, TrainingLog, read_log
from explorer.training.medusa1 import train_heads
from tests.training.test_medusa1 import options
from tests.training.tiny import TinyBase


def test_lines_are_means_since_the_line_before(tmp_path):
    log = TrainingLog(tmp_path / "out", 0, 600)
    for update in range(1, 8):
        log.add(update, 1, {"loss": float(update), "part": 1.0})
    lines = read_log(tmp_path / "out" / LOG)
    assert lines == [
        {"update": 3, "epoch": 1, "loss": 2.0, "part": 1.0},
        {"update": 6, "epoch": 1, "loss": 5.0, "part": 1.0},
    ]


def test_updates_that_are_made_again_are_recorded_once(tmp_path):
    log = TrainingLog(tmp_path, 0, 10)
    for update in range(1, 6):
        log.add(update, 1, {"loss": 1.0})
    with open(tmp_path / LOG, "a") as file:
        file.write('{"update": 6, "lo')  # as a kill leaves it
    again = TrainingLog(tmp_path, 3, 10)
    again.add(4, 1, {"loss": 2.0})
    assert [(x["update"], x["loss"]) for x in read_log(tmp_path / LOG)] == [
        (1, 1.0), (2, 1.0), (3, 1.0), (4, 2.0)
    ]  # fmt: skip
    TrainingLog(tmp_path, 0, 10)
    assert read_log(tmp_path / LOG) == []


@pytest.mark.parametrize(
    "text",
    [
        "tea\n",
        '{"update": "x", "loss": 1}\n',
        "[1]\n",
        '{"update": 1, "loss": null}\n',
        '{"update": 1, "loss": [1]}\n',
        '{"update": -1, "loss": 1}\n',
        f'{{"update": {10**400}, "loss": 1}}\n',
        '{"update": 1, "loss": 1, "accuracy": [1]}\n',
        '{"update": 1, "loss": 1, "accuracy": {"top1": 5}}\n',
        '{"update": 1, "loss": 1, "accuracy": {"top1": ["x"]}}\n',
    ],
)
def test_other_files_are_refused(tmp_path, text):
    (tmp_path / "x").write_text(text)
    with pytest.raises(ExplorerError, match="not a training log"):
        read_log(tmp_path / "x")
    with pytest.raises(ExplorerError, match="no training log"):
        read_log(tmp_path / "y")


def test_a_run_ends_after_its_updates_and_goes_on_after_a_kill(tmp_path):
    """1200 rows in batches of 64 are about 20 updates an epoch: 30 end within the second."""
    settings = {"epochs": 5, "updates": 30, "save_every": 5, "dropout": 0.1}
    whole = train_heads(TinyBase(), options(tmp_path, **settings, out=tmp_path / "a"))
    assert len(whole.history) == 2
    lines = read_log(whole.out / LOG)
    assert [x["update"] for x in lines if "epoch_done" not in x] == list(range(1, 31))
    assert [x["accuracy"] for x in lines if "epoch_done" in x][-1] == whole.history[-1]["accuracy"]
    assert json.loads((whole.out / "config.json").read_text())["training"]["updates"] == 30

    def kill(event):
        if event["phase"] == "training" and event["epoch"] == 2 and event["done"] == 8:
            raise KeyboardInterrupt

    again = options(tmp_path, **settings, out=tmp_path / "b")
    with pytest.raises(KeyboardInterrupt):
        train_heads(TinyBase(), again, kill)
    resumed = train_heads(TinyBase(), again)
    assert resumed.history == whole.history
    assert read_log(resumed.out / LOG) == lines
    assert torch.equal(load_heads(whole.out).block_weight, load_heads(resumed.out).block_weight)


def test_a_kill_before_the_last_epoch_is_measured_loses_nothing(tmp_path):
    """The last update is also one that a checkpoint would be due after."""
    settings = options(tmp_path, epochs=5, updates=30, save_every=30)
    kept = train_heads(TinyBase(), options(tmp_path, epochs=5, updates=30, out=tmp_path / "a"))

    def kill(event):
        if event["phase"] == "epoch" and event["epoch"] == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_heads(TinyBase(), settings, kill)
    resumed = train_heads(TinyBase(), settings)
    assert resumed.history == kept.history


def test_a_run_of_all_epochs_begun_before_there_was_a_limit_can_go_on(tmp_path):
    model, elsewhere = TinyBase(), {"data", "out", "cache_folder", "save_every", "lr", "updates"}
    values = options(tmp_path).model_dump(mode="json", exclude=elsewhere)
    parts = json.dumps([values, model.name, model.backend, fingerprint([])], sort_keys=True)
    assert options(tmp_path).key(model, []) == hashlib.sha256(parts.encode()).hexdigest()
    assert options(tmp_path, updates=3).key(model, []) != options(tmp_path).key(model, [])
