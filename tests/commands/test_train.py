"""`train` over fake training: options in, the result out."""

import shlex

import pytest

from explorer.commands import cli, train
from explorer.training import medusa1
from explorer.training.options import TrainResult
from tests.commands.fakes import refused, run_json


@pytest.mark.parametrize("what", train.SUBCOMMANDS)
def test_examples_of_train_are_accepted(what):
    argv = shlex.split(train.subcommand_module(what).EXAMPLE)[3:]
    args = cli.build_parser(argv).parse_args(argv)
    assert (args.command, args.what, args.backend) == ("train", what, "auto")


def test_train_hands_its_options_over(fake, capsys, monkeypatch, tmp_path):
    seen = {}

    def train_heads(model, options, progress):
        seen.update(model=model, options=options)
        progress({"phase": "hidden states", "done": 1, "total": 2})
        progress({"phase": "training", "epoch": 1, "epochs": 1, "done": 1, "total": 1, "loss": 2.0})
        progress(
            {"phase": "epoch", "epoch": 1, "epochs": 1, "loss": 2.0, "accuracy": {"top1": [0.5]}}
        )
        return TrainResult(
            out=options.out, accuracy={"top1": [0.5, 0.25]}, coverage=1.0, train_tokens=10,
            holdout_tokens=2, seconds=1.0, history=[],
        )  # fmt: skip

    monkeypatch.setattr(medusa1, "train_heads", train_heads)
    data = tmp_path / "text.jsonl"
    data.write_text("{}")
    argv = ["train", "heads", "--data", str(data), "--out", str(tmp_path / "heads")]
    argv += ["--num-heads", "2", "--new-vocabulary"]
    result, err = run_json(capsys, *argv)
    assert result["accuracy"]["top1"] == [0.5, 0.25]
    assert "fake" in seen["model"].tuned
    assert seen["options"].num_heads == 2
    assert seen["options"].new_vocabulary
    assert fake.loaded["heads"] == "none"
    assert "held-out top-1 0.500" in err


@pytest.mark.parametrize(
    ("argv", "hint"),
    [
        (["train"], "WHAT"),
        (["train", "feet"], "feet"),
        (["train", "data", "--prompts", "/nowhere", "--out", "x"], "no prompts file"),
        (["train", "heads", "--data", "/nowhere", "--out", "x"], "no training data"),
        (["train", "heads", "--data", "/nowhere", "--out", "x", "--epochs", "no"], "--epochs"),
        (["train", "joint", "--data", "/nowhere", "--out", "x"], "no training data"),
        (["train", "joint", "--data", "/nowhere", "--out", "x", "--rank", "0"], "--rank"),
        (["train", "draft", "--data", "/nowhere", "--out", "x"], "no training data"),
        (["train", "draft", "--data", "/nowhere", "--out", "x", "--layers", "0"], "--layers"),
    ],
)
def test_bad_input_is_one_line_and_status_two(fake, capsys, argv, hint):
    assert hint in refused(capsys, *argv)


def test_curves_are_drawn_without_a_model(fake, capsys, tmp_path):
    log, out = tmp_path / "training.jsonl", tmp_path / "curves.svg"
    log.write_text('{"update": 5, "epoch": 1, "loss": 2.0}\n{"update": 9, "epoch": 1, "loss": 1}\n')
    result, _ = run_json(capsys, "train", "curves", "--log", str(log), "--out", str(out))
    assert (result["updates"], result["lines"]) == (9, 2)
    assert out.read_text().startswith("<svg")
    assert not hasattr(fake, "loaded")
    argv = ["train", "curves", "--log", "/nowhere", "--out", str(out)]
    assert "no training log" in refused(capsys, *argv)
