"""Training heads: the recorded class, the shipped heads' epochs, the question."""

import json

from explorer.analysis.formulas import head_weight
from explorer.learn.training import HEADS, data, numbers, recorded_class


def test_the_recorded_class_learned():
    frames = recorded_class()["frames"]
    assert frames[-1]["update"] > frames[1]["update"] > frames[0]["update"] == 0
    assert frames[-1]["top1"][0] > frames[0]["top1"][0]
    _, *wanted = recorded_class()["truth"]
    for frame in frames:
        for head, right in zip(frame["guesses"], wanted, strict=True):
            assert all((name == right) == hit for name, _, hit in head)


def test_later_heads_have_larger_losses():
    seen = [frame["losses"] for frame in recorded_class()["frames"] if frame["losses"]]
    means = [sum(head) / len(seen) for head in zip(*seen, strict=True)]
    assert means == sorted(means)
    asked = data()["question"]
    assert asked["options"][asked["right"]] == "head 1"


def test_the_shipped_heads_epochs_are_those_of_their_checkpoint():
    config = json.loads(HEADS.read_text(encoding="utf-8"))
    assert data()["epochs"][-1]["top1"] == config["accuracy"]["top1"]
    assert [one["epoch"] for one in data()["epochs"]] == 4 * [1, 2, 3]


def test_weights_are_those_of_the_paper():
    assert numbers()["weights"] == [head_weight(k) for k in (1, 2, 3, 4)]
