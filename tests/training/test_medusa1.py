import json

import pytest
import torch
from safetensors import safe_open

from explorer.heads.checkpoints import load_heads
from explorer.records.errors import ExplorerError
from explorer.training.evaluate import head_accuracy
from explorer.training.fitting import warmup_cosine
from explorer.training.hidden_cache import HiddenCache
from explorer.training.medusa1 import train_heads
from explorer.training.options import TrainOptions
from tests.heads.test_heads import make
from tests.training.tiny import VOCAB, TinyBase, branching_text, counting_text, write_lines


def options(tmp_path, **changes) -> TrainOptions:
    data = tmp_path / "text.jsonl.gz"
    if not data.exists():
        write_lines(data, counting_text(80))
    fields = {
        "data": data,
        "out": tmp_path / "heads",
        "num_heads": 2,
        "draft_vocab_size": 50,
        "epochs": 8,
        "batch_size": 64,
        "lr": 0.02,
        "dropout": 0.0,
        "soft_share": 0.0,
        "holdout": 0.1,
        "cache_folder": tmp_path / "cache",
        "storage_dtype": "float32",
    }
    return TrainOptions(**{**fields, **changes})


def safetensors_names(folder) -> set[str]:
    with safe_open(folder / "model.safetensors", framework="pt") as file:
        return set(file.keys())


@pytest.mark.parametrize(
    ("kind", "num_blocks"),
    [("own", 1), ("shared", 2), ("draft_vocab", 1), ("draft_vocab", 0), ("draft_vocab", 2)],
)
def test_heads_learn_a_grammar(tmp_path, kind, num_blocks):
    result = train_heads(TinyBase(), options(tmp_path, kind=kind, num_blocks=num_blocks))
    losses = [epoch["loss"] for epoch in result.history]
    assert losses[-1] < losses[0]
    chance = 1 / 50
    least = 0.5 if kind != "shared" and num_blocks else 3 * chance
    assert all(share > least for share in result.accuracy["top1"])
    for one, three, ten in zip(*result.accuracy.values(), strict=True):
        assert one <= three <= ten <= 1
    heads = load_heads(result.out, TinyBase())
    assert heads.config.accuracy["top1"] == result.accuracy["top1"]
    scores = [epoch["score"] for epoch in result.history]
    assert scores[heads.config.training["epochs_done"] - 1] == max(scores)  # the best are kept
    assert str(tmp_path) not in (result.out / "config.json").read_text()


@pytest.mark.parametrize(("kind", "num_blocks"), [("own", 1), ("draft_vocab", 2)])
def test_hydra_heads_learn_more_than_the_hidden_state_tells(tmp_path, kind, num_blocks):
    """Where the reply branches, only heads that see the branch know what follows."""
    write_lines(tmp_path / "text.jsonl.gz", branching_text(120))
    settings = {"kind": kind, "num_blocks": num_blocks, "epochs": 12}
    blind = train_heads(TinyBase(), options(tmp_path, **settings, out=tmp_path / "medusa"))
    seeing = train_heads(
        TinyBase(), options(tmp_path, **settings, architecture="hydra", out=tmp_path / "hydra")
    )
    # Two of three tokens follow from the one before; the hidden state tells a third at most.
    assert all(share > 0.5 for share in seeing.accuracy["top1"])
    assert all(share < 0.45 for share in blind.accuracy["top1"])


def test_hydra_heads_may_use_the_projection_of_medusa_heads(tmp_path):
    medusa = train_heads(TinyBase(), options(tmp_path, epochs=2, out=tmp_path / "medusa"))
    changes = {"architecture": "hydra", "projection_from": medusa.out, "epochs": 2}
    hydra = train_heads(TinyBase(), options(tmp_path, **changes, out=tmp_path / "hydra"))
    lender, model = load_heads(medusa.out), TinyBase()
    heads = load_heads(hydra.out, model)
    assert torch.equal(heads.projection, lender.projection)
    assert torch.equal(heads.token_map, lender.token_map)
    assert "projection" not in safetensors_names(hydra.out)
    with pytest.raises(ExplorerError, match="must lie in one folder"):
        train_heads(model, options(tmp_path, **changes, out=tmp_path / "else" / "where"))


def test_trained_hydra_heads_may_change_to_another_projection(tmp_path):
    alone = {"architecture": "hydra", "draft_vocab_size": 10, "epochs": 2}
    first = train_heads(TinyBase(), options(tmp_path, **alone, out=tmp_path / "alone"))
    lender = train_heads(TinyBase(), options(tmp_path, epochs=2, out=tmp_path / "medusa")).out
    changes = {"start_from": first.out, "projection_from": lender, "epochs": 2}
    train_heads(TinyBase(), options(tmp_path, **changes, out=tmp_path / "hydra"))
    heads = load_heads(tmp_path / "hydra", TinyBase())
    assert heads.config.architecture == "hydra"
    assert heads.config.training["started_from"]["epochs_done"] == 2
    assert torch.equal(heads.projection, load_heads(lender).projection)


def test_a_killed_run_ends_as_an_unbroken_one(tmp_path):
    whole = train_heads(TinyBase(), options(tmp_path, epochs=4, dropout=0.1, out=tmp_path / "a"))

    def kill(event):
        if event["phase"] == "epoch" and event["epoch"] == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_heads(TinyBase(), options(tmp_path, epochs=4, dropout=0.1, out=tmp_path / "b"), kill)
    heard = []
    settings = options(tmp_path, epochs=4, dropout=0.1, out=tmp_path / "b")
    resumed = train_heads(TinyBase(), settings, heard.append)
    assert any(event["phase"] == "resumed" for event in heard)
    assert resumed.history == whole.history
    assert torch.equal(load_heads(whole.out).block_weight, load_heads(resumed.out).block_weight)


def test_training_stops_when_nothing_improves(tmp_path):
    result = train_heads(TinyBase(), options(tmp_path, epochs=40, lr=1e-12, patience=2))
    assert len(result.history) == 3


def test_the_vocabulary_follows_from_the_coverage(tmp_path):
    result = train_heads(TinyBase(), options(tmp_path, epochs=1, coverage=0.5))
    assert 0.5 <= result.coverage < 0.6
    assert load_heads(result.out).config.draft_vocab_size < 50


def test_same_seed_same_heads(tmp_path):
    first = train_heads(TinyBase(), options(tmp_path, epochs=2, dropout=0.2, out=tmp_path / "a"))
    torch.manual_seed(123)
    second = train_heads(TinyBase(), options(tmp_path, epochs=2, dropout=0.2, out=tmp_path / "b"))
    a, b = load_heads(first.out), load_heads(second.out)
    assert torch.equal(a.projection, b.projection)
    assert torch.equal(a.block_weight, b.block_weight)
    assert first.accuracy == second.accuracy


def test_training_leaves_the_global_random_state_alone(tmp_path):
    torch.manual_seed(5)
    expected = torch.rand(1)
    train_heads(model := TinyBase(), options(tmp_path, epochs=1))
    torch.manual_seed(5)
    train_heads(model, options(tmp_path, epochs=1))
    assert torch.equal(torch.rand(1), expected)


def test_soft_targets_bring_the_heads_near_the_base_distribution(tmp_path):
    """With soft targets only, the loss still falls and unknown tokens do not matter."""
    result = train_heads(TinyBase(), options(tmp_path, soft_share=1.0, epochs=3, lr=0.005))
    losses = [epoch["loss"] for epoch in result.history]
    assert losses[-1] < losses[0]


def test_stored_heads_are_the_ones_measured(tmp_path):
    result = train_heads(TinyBase(), options(tmp_path, epochs=2, storage_dtype="bfloat16"))
    assert load_heads(result.out).projection.dtype == torch.bfloat16


def test_progress_reports_every_phase(tmp_path):
    events = []
    train_heads(TinyBase(), options(tmp_path, epochs=2), events.append)
    assert {e["phase"] for e in events} == {"hidden states", "training", "epoch"}
    assert [e["epoch"] for e in events if e["phase"] == "epoch"] == [1, 2]
    json.dumps(events)


def test_coverage_is_reported(tmp_path):
    result = train_heads(TinyBase(), options(tmp_path, draft_vocab_size=10, epochs=1))
    assert 0.1 < result.coverage < 0.5
    assert all(share <= 0.6 for share in result.accuracy["top10"])


@pytest.mark.parametrize("kind", ["own", "shared", "draft_vocab"])
def test_heads_can_be_trained_further(tmp_path, kind):
    first = train_heads(TinyBase(), options(tmp_path, kind=kind, epochs=3))
    again = options(tmp_path, start_from=first.out, out=tmp_path / "more", epochs=3)
    second = train_heads(TinyBase(), again)
    assert second.history[-1]["loss"] < first.history[-1]["loss"]
    assert second.coverage == first.coverage
    config = load_heads(tmp_path / "more", TinyBase()).config
    assert config.kind == kind
    assert config.training["started_from"]["epochs_done"] == 3


@pytest.mark.parametrize("architecture", ["medusa", "hydra"])
def test_blocks_can_be_added_to_trained_heads(tmp_path, architecture):
    first = train_heads(TinyBase(), options(tmp_path, architecture=architecture, epochs=3))
    deeper = {"start_from": first.out, "num_blocks": 3, "epochs": 1}
    quiet = options(tmp_path, out=tmp_path / "same", lr=1e-12, storage_dtype="float32", **deeper)
    same = train_heads(TinyBase(), quiet)
    assert same.accuracy == first.accuracy  # the added blocks are identities
    learnt = train_heads(TinyBase(), options(tmp_path, out=tmp_path / "more", **deeper))
    assert learnt.history[-1]["loss"] < same.history[-1]["loss"]
    heads = load_heads(tmp_path / "more", TinyBase())
    assert heads.config.num_blocks == 3
    assert all(heads.block_weight[:, block].any() for block in range(3))


def test_the_vocabulary_can_be_chosen_again(tmp_path):
    first = train_heads(TinyBase(), options(tmp_path, draft_vocab_size=10, epochs=3))
    again = options(tmp_path, start_from=first.out, out=tmp_path / "more", epochs=3)
    wider = again.model_copy(update={"new_vocabulary": True, "draft_vocab_size": VOCAB - 1})
    kept = train_heads(TinyBase(), again)
    second = train_heads(TinyBase(), wider.model_copy(update={"out": tmp_path / "wider"}))
    assert load_heads(tmp_path / "wider", TinyBase()).config.draft_vocab_size == VOCAB - 1
    assert second.coverage > kept.coverage
    assert second.accuracy["top1"][0] > kept.accuracy["top1"][0] + 0.1


def test_only_a_vocabulary_of_ones_own_can_be_chosen_again(tmp_path):
    first = train_heads(TinyBase(), options(tmp_path, kind="own", epochs=1))
    again = options(tmp_path, start_from=first.out, out=tmp_path / "more", new_vocabulary=True)
    with pytest.raises(ExplorerError, match="omit --new-vocabulary"):
        train_heads(TinyBase(), again)


def test_heads_that_borrow_their_vocabulary_choose_none(tmp_path):
    first = train_heads(TinyBase(), options(tmp_path, epochs=1))
    settings = {"start_from": first.out, "projection_from": first.out, "new_vocabulary": True}
    with pytest.raises(ExplorerError, match="bring their vocabulary"):
        train_heads(TinyBase(), options(tmp_path, out=tmp_path / "more", **settings))
    assert not (tmp_path / "more").exists()


def test_heads_may_be_stored_in_eight_bits(tmp_path):
    settings = {"epochs": 2, "storage_dtype": "q8_0"}
    result = train_heads(TinyBase(), options(tmp_path, **settings))
    stored = load_heads(result.out, TinyBase())
    assert stored.block_weight.dtype == torch.bfloat16
    assert stored.config.accuracy["top1"] == result.accuracy["top1"]
    further = options(tmp_path, start_from=result.out, out=tmp_path / "more", **settings)
    assert train_heads(TinyBase(), further).accuracy["top1"][0] >= result.accuracy["top1"][0] - 0.05


def test_training_further_never_mixes_up_the_held_out_text(tmp_path):
    first = train_heads(TinyBase(), options(tmp_path, epochs=1))
    with pytest.raises(ExplorerError, match="use the same value"):
        train_heads(TinyBase(), options(tmp_path, start_from=first.out, seed=1))


def test_nan_loss_keeps_the_last_epoch(tmp_path):
    model, seen = TinyBase(), []

    def spoil(event):
        seen.append(event)
        if event["phase"] == "epoch" and event["epoch"] == 1:
            path = next((tmp_path / "cache").glob("*/hidden.bf16"))
            size = path.stat().st_size
            with open(path, "r+b") as file:
                file.write(b"\xff\x7f" * (size // 2))  # bfloat16 NaN

    with pytest.raises(ExplorerError, match=r"lower learning rate.*what was saved before is kept"):
        train_heads(model, options(tmp_path), spoil)
    assert load_heads(tmp_path / "heads").config.training["epochs_done"] == 1


@pytest.mark.parametrize(
    ("lines", "changes", "message"),
    [
        ([{"prompt": [1], "response": [5] * 30}] * 9, {}, "is usable"),
        ([{"prompt": [1], "response": [VOCAB, 2]}], {}, "another tokenizer"),
        ([], {}, "no conversation"),
        (counting_text(20), {"kind": "shared", "num_blocks": 0}, "nothing to train"),
        (counting_text(20), {"max_tokens": 3}, "is usable"),
        (counting_text(20), {"new_vocabulary": True}, "name them with --start-from"),
    ],
)
def test_unusable_input(tmp_path, lines, changes, message):
    data = write_lines(tmp_path / "bad.jsonl", lines)
    with pytest.raises(ExplorerError, match=message):
        train_heads(TinyBase(), options(tmp_path, data=data, **changes))
    assert not (tmp_path / "heads").exists()


def test_tokens_outside_the_draft_vocabulary_count_as_wrong():
    heads = make("draft_vocab")
    known, unknown = heads.token_map.tolist(), set(range(40)) - set(heads.token_map.tolist())
    hidden = torch.randn(20, 16)
    best = heads.propose(hidden, 1)[0][:, 0, 0]
    # Row i's target for head 1 is token i + 1: first exactly head 1's guess, then never known.
    right = torch.cat([torch.tensor([known[0]]), best[:-1]])
    wrong = torch.full((20,), min(unknown))
    starts = torch.tensor([0, 20])
    rows = torch.arange(20)
    assert head_accuracy(heads, HiddenCache(hidden, right, starts), rows)["top1"][0] == 1.0
    assert head_accuracy(heads, HiddenCache(hidden, wrong, starts), rows)["top10"][0] == 0.0


def test_learning_rate_rises_then_falls_to_zero():
    factor = warmup_cosine(100, 0.1)
    values = [factor(i) for i in range(101)]
    assert values[0] == pytest.approx(0.1)
    assert max(values) == values[10] == 1.0
    assert values[100] == pytest.approx(0.0)
    assert values[10:] == sorted(values[10:], reverse=True)
