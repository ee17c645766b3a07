import builtins
import json

import pytest
import torch
from safetensors.torch import load_file

from explorer.heads.checkpoints import load_heads
from explorer.models.adapters import ADAPTER_WEIGHTS, SUBFOLDER, read_adapter, serve_adapter
from explorer.records.errors import ExplorerError
from explorer.training import fitting
from explorer.training.fitting import CHECKPOINT
from explorer.training.joint import STAGE_ONE, train_joint
from explorer.training.lora import add_lora, on_four_bit_grid
from tests.decoding.tiny import tiny_model
from tests.training.joint import options

TOKENS = torch.arange(12) % 50


@pytest.mark.parametrize(("kind", "rounding"), [("draft_vocab", "int4"), ("shared", "none")])
def test_heads_and_base_learn_together(tmp_path, kind, rounding):
    wanted = options(tmp_path, kind=kind, rounding=rounding)
    result = train_joint(tiny_model(), wanted)
    heads_losses = [epoch["heads_loss"] for epoch in result.history]
    assert heads_losses[-1] < heads_losses[0]
    assert all(value > 0 for value in result.perplexity.values())
    assert set(result.perplexity) == {
        "untouched", "unmerged", "merged", "merged_int4", "merged_nf4",
    }  # fmt: skip
    assert result.perplexity["unmerged"] != result.perplexity["untouched"]
    assert "not to tiny llama" in result.lossless

    raw = json.loads((wanted.out / SUBFOLDER / "config.json").read_text())
    assert raw["lossless"] == result.lossless
    assert raw["perplexity"] == result.perplexity
    assert raw["four_bit_rounding"] is (rounding == "int4")
    heads = load_heads(wanted.out, tiny_model())
    assert heads.config.training["lossless"] == result.lossless
    assert heads.config.training["method"] == "Medusa-2"
    assert heads.config.accuracy["top1"] == result.accuracy["top1"]
    assert str(tmp_path) not in (wanted.out / "config.json").read_text()
    assert load_heads(wanted.out / STAGE_ONE, tiny_model())


def test_training_the_base_helps_the_heads(tmp_path):
    """Where the language loss counts little, the tuned base makes the heads' task easier."""
    still = train_joint(tiny_model(), options(tmp_path, out=tmp_path / "a", lr=1e-9, epochs=4))
    moved = train_joint(
        tiny_model(), options(tmp_path, out=tmp_path / "b", epochs=4, head_weight=5.0)
    )
    assert moved.history[-1]["heads_loss"] < still.history[-1]["heads_loss"]
    assert still.agreement > 0.97  # at no learning rate the model stays what it was
    assert moved.agreement < still.agreement


def test_only_adapter_and_heads_move(tmp_path):
    base = tiny_model()
    before = {name: p.clone() for name, p in base.network.named_parameters()}
    train_joint(base, options(tmp_path, epochs=1))
    after = {
        name.replace("layer.base_layer.", ""): p
        for name, p in base.network.named_parameters()
        if "lora" not in name
    }
    assert before.keys() == after.keys()
    assert all(torch.equal(before[name], after[name]) for name in before)


def test_the_saved_adapter_is_the_trained_model(tmp_path):
    trained = tiny_model()
    train_joint(trained, options(tmp_path, rounding="none", epochs=1))
    served = tiny_model()
    untouched = served.hidden_states(TOKENS)
    serve_adapter(served, tmp_path / "tuned" / SUBFOLDER)
    ours, theirs = served.hidden_states(TOKENS), trained.hidden_states(TOKENS)
    moved = (theirs - untouched).abs().max()
    assert (ours - theirs).abs().max() < 0.1 * moved  # stored in bf16


def test_an_interrupted_run_ends_like_an_unbroken_one(tmp_path):
    whole = train_joint(tiny_model(), options(tmp_path))

    def kill(event):
        # The second stage is the one whose log has the heads' loss apart.
        if event.get("epoch") == 2 and event.get("done") == 5 and "heads_loss" in event:
            raise KeyboardInterrupt

    again = options(tmp_path, out=tmp_path / "again")
    with pytest.raises(KeyboardInterrupt):
        train_joint(tiny_model(), again, kill)
    assert (again.out / CHECKPOINT).exists()
    assert read_adapter(again.out / SUBFOLDER)
    torch.manual_seed(7)
    events = []
    resumed = train_joint(tiny_model(), again, events.append)
    assert not [e for e in events if e["phase"] == "training" and "heads_loss" not in e]
    assert resumed.history == whole.history
    for name in ("model.safetensors", f"{SUBFOLDER}/{ADAPTER_WEIGHTS}"):
        a, b = (load_file(r.out / name) for r in (whole, resumed))
        assert all(torch.equal(a[key], b[key]) for key in a)


def test_heads_that_were_trained_alone_can_be_taken(tmp_path):
    train_joint(tiny_model(), options(tmp_path, epochs=1))
    events = []
    taken = options(tmp_path, out=tmp_path / "more", start_from=tmp_path / "tuned" / STAGE_ONE)
    train_joint(tiny_model(), taken, events.append)
    assert not (tmp_path / "more" / STAGE_ONE).exists()
    with pytest.raises(ExplorerError, match="use the same value"):
        train_joint(tiny_model(), taken.model_copy(update={"seed": 5}))


def test_a_loss_that_is_no_number_keeps_what_was_made(tmp_path):
    def spoil(event):
        if event["phase"] == "epoch" and "heads_loss" in event and event["epoch"] == 1:
            path = next((tmp_path / "cache").glob("*/hidden.bf16"))
            with open(path, "r+b") as file:
                file.write(b"\xff\x7f" * (path.stat().st_size // 2))  # bfloat16 NaN

    with pytest.raises(ExplorerError, match=r"no longer a number.*is kept"):
        train_joint(tiny_model(), options(tmp_path), spoil)
    assert read_adapter(tmp_path / "tuned" / SUBFOLDER)
    assert load_heads(tmp_path / "tuned")


def test_a_full_disk_is_a_sentence(tmp_path, monkeypatch):
    train_joint(tiny_model(), options(tmp_path, epochs=1))

    def full(*_, **__):
        raise RuntimeError("PytorchStreamWriter failed writing file: No space left on device")

    monkeypatch.setattr(fitting.torch, "save", full)
    again = options(tmp_path, start_from=tmp_path / "tuned" / STAGE_ONE, out=tmp_path / "more")
    with pytest.raises(ExplorerError, match=r"cannot be written .*free some disk space"):
        train_joint(tiny_model(), again)


def test_a_packed_base_and_a_missing_peft_are_sentences(tmp_path, monkeypatch):
    base = tiny_model()
    base.backend = "int4"
    with pytest.raises(ExplorerError, match="--backend bf16"):
        train_joint(base, options(tmp_path))
    real = builtins.__import__

    def without_peft(name, *rest):
        if name == "peft":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without_peft)
    with pytest.raises(ExplorerError, match=r"pip install -r requirements-train\.txt"):
        train_joint(tiny_model(), options(tmp_path))
    assert not (tmp_path / "tuned").exists()  # refused before the first stage


def test_an_adapter_changes_nothing_at_first(tmp_path):
    base = tiny_model()
    before = base.hidden_states(TOKENS)
    lora = add_lora(base, 4, 8, rounding=False, seed=0)
    assert len(lora.layers) == 21  # seven matrices in each of three layers, the LM head not
    torch.testing.assert_close(base.hidden_states(TOKENS), before)
    lora.switch("off")
    torch.testing.assert_close(base.hidden_states(TOKENS), before)


def test_weights_from_four_bit_codes_are_recognised():
    from explorer.kernels.linears import round_to_four_bits

    base = tiny_model()
    assert not on_four_bit_grid(base.network)
    for layer in base.network.base_model.layers:
        for module in layer.modules():
            if isinstance(module, torch.nn.Linear) and module.in_features % 32 == 0:
                module.weight.data = round_to_four_bits(module.weight.data).bfloat16().float()
    assert on_four_bit_grid(base.network)
