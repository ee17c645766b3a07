import pytest
import torch
from safetensors.torch import load_file

from explorer.kernels.linears import dequantised, four_bit_blocks, round_to_four_bits
from explorer.models.draft import load_draft
from explorer.records.errors import ExplorerError
from explorer.training import fitting
from explorer.training.distil import distribution_loss, epoch_batches, reply_states
from explorer.training.draft import DraftOptions, train_draft
from explorer.training.draft_quality import accepted_chain
from explorer.training.fitting import CHECKPOINT
from tests.decoding.tiny import tiny_model
from tests.training.tiny import counting_text, write_lines


def options(tmp_path, **changes) -> DraftOptions:
    data = tmp_path / "text.jsonl"
    if not data.exists():
        write_lines(data, counting_text(40))
    fields = {
        "data": data,
        "out": tmp_path / "draft",
        "layers": 1,
        "epochs": 3,
        "batch_size": 4,
        "lr": 5e-3,
        "holdout": 0.1,
        "cache_folder": tmp_path / "cache",
        "save_every": 3,
    }
    return DraftOptions(**{**fields, **changes})


@pytest.mark.parametrize("storage", ["int4", "bf16"])
def test_a_draft_learns_the_bases_distribution(tmp_path, storage):
    base = tiny_model()
    before = {name: tensor.clone() for name, tensor in base.network.state_dict().items()}
    result = train_draft(base, options(tmp_path, storage=storage, epochs=4))
    losses = [epoch["loss"] for epoch in result.history]
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < 0.8 * losses[0]
    assert result.accuracy["agreement"] > result.history[0]["agreement"]
    assert all(torch.equal(before[n], t) for n, t in base.network.state_dict().items())
    assert base.network.get_input_embeddings().weight.requires_grad is False

    draft = load_draft(result.out, base)
    assert draft.draft_config.accuracy["agreement"] == result.accuracy["agreement"]
    assert draft.draft_config.training["history"] == result.history
    assert result.bytes == (result.out / "model.safetensors").stat().st_size
    text = (result.out / "config.json").read_text()
    assert str(tmp_path) not in text
    assert not (result.out / CHECKPOINT).exists()


def test_an_interrupted_run_ends_like_an_unbroken_one(tmp_path):
    base = tiny_model()
    whole = train_draft(base, options(tmp_path))

    def kill(event):
        if event.get("epoch") == 2 and event.get("done") == 8:
            raise KeyboardInterrupt

    again = options(tmp_path, out=tmp_path / "again")
    with pytest.raises(KeyboardInterrupt):
        train_draft(base, again, kill)
    assert load_draft(again.out, base)  # the first epoch's draft is there
    torch.manual_seed(99)
    events = []
    resumed = train_draft(base, again, events.append)
    assert {"phase": "resumed", "update": 15, "updates": 30} in events
    assert resumed.history == whole.history
    a, b = (load_file(r.out / "model.safetensors") for r in (whole, resumed))
    assert a.keys() == b.keys()
    assert all(torch.equal(a[name], b[name]) for name in a)


def test_a_checkpoint_of_other_settings_is_not_gone_on_from(tmp_path):
    base = tiny_model()

    def kill(event):
        if event.get("done") == 4 and event["phase"] == "training":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_draft(base, options(tmp_path), kill)
    with pytest.raises(ExplorerError, match="other settings"):
        train_draft(base, options(tmp_path, batch_size=2))
    lower = train_draft(base, options(tmp_path, lr=1e-4))  # a gentler rate may go on
    assert len(lower.history) == 3
    (tmp_path / "draft" / CHECKPOINT).write_bytes(b"half a file")
    with pytest.raises(ExplorerError, match="delete it"):
        train_draft(base, options(tmp_path))


def test_a_loss_that_is_no_number_keeps_what_was_made(tmp_path):
    base = tiny_model()
    seen = []

    def spoil(event):
        seen.append(event)
        if event["phase"] == "epoch" and event["epoch"] == 1:
            path = next((tmp_path / "cache").glob("*/hidden.bf16"))
            with open(path, "r+b") as file:
                file.write(b"\xff\x7f" * (path.stat().st_size // 2))  # bfloat16 NaN

    with pytest.raises(ExplorerError, match=r"no longer a number.*lower learning rate.*is kept"):
        train_draft(base, options(tmp_path), spoil)
    assert load_draft(tmp_path / "draft", base)
    assert (tmp_path / "draft" / CHECKPOINT).exists()


def test_a_full_disk_is_a_sentence(tmp_path, monkeypatch):
    def full(*_, **__):
        raise RuntimeError("PytorchStreamWriter failed writing file: No space left on device")

    monkeypatch.setattr(fitting.torch, "save", full)
    with pytest.raises(ExplorerError, match=r"cannot be written .*free some disk space"):
        train_draft(tiny_model(), options(tmp_path))


@pytest.mark.parametrize(
    ("changes", "message"), [({"layers": 4}, "ask for fewer"), ({"max_tokens": 3}, "is usable")]
)
def test_unusable_input(tmp_path, changes, message):
    with pytest.raises(ExplorerError, match=message):
        train_draft(tiny_model(), options(tmp_path, **changes))
    assert not (tmp_path / "draft").exists()


def test_rounding_is_what_the_file_will_hold():
    weight = torch.randn(24, 96) * 0.3
    assert (round_to_four_bits(weight) - dequantised(four_bit_blocks(weight))).abs().max() < 1e-6
    assert torch.isfinite(round_to_four_bits(torch.zeros(2, 32))).all()


def test_the_loss_is_the_kl_divergence_and_so_is_its_gradient():
    torch.manual_seed(0)
    student = torch.randn(300, 8, requires_grad=True)
    teacher, weight = torch.randn(300, 8), torch.randn(20, 8)
    ours = distribution_loss(student, teacher, weight, torch.float32)
    (ours * 3).backward()
    grad, student.grad = student.grad, None
    log_q, p = (student @ weight.T).log_softmax(-1), (teacher @ weight.T).softmax(-1)
    theirs = (p * (p.log() - log_q)).sum(-1).mean()
    (theirs * 3).backward()
    torch.testing.assert_close(ours, theirs)
    torch.testing.assert_close(grad, student.grad)


def test_reply_states_are_those_of_single_passes(tmp_path):
    from explorer.training.data import Conversation

    base = tiny_model()
    texts = [Conversation((1, 2, 3), (4, 5, 6, 7)), Conversation((9,), (8, 7))]
    with base.library_attention(), torch.no_grad():
        states = reply_states(base, texts)
    assert states.shape == (6, base.hidden_size)
    alone = base.hidden_states(torch.tensor([1, 2, 3, 4, 5, 6]))[2:]
    torch.testing.assert_close(states[:4], alone, rtol=1e-4, atol=1e-5)


def test_batches_hold_everything_once_and_change_with_the_epoch():
    lengths = [5, 50, 7, 60, 6, 55, 8, 58, 9]
    first, second = (epoch_batches(lengths, 2, 3, epoch) for epoch in (1, 2))
    assert sorted(i for batch in first for i in batch) == list(range(9))
    assert first != second
    assert first == epoch_batches(lengths, 2, 3, 1)


@pytest.mark.parametrize(
    ("right", "greedy", "expected"),
    [
        ("1111111111", "1111111111", (4, 1)),  # a second step would look beyond the end
        ("0000000000", "1111111111", (0, 5)),
        ("0110111110", "1111111111", (6, 2)),
        ("0110111110", "1110111111", (4, 1)),  # the first step leaves the greedy text
        ("11", "11", (0, 0)),
    ],
)
def test_accepted_chains_are_counted_step_by_step(right, greedy, expected):
    assert accepted_chain(*([c == "1" for c in x] for x in (right, greedy))) == expected
