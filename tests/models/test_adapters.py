import json

import pytest
import torch
from safetensors.torch import load_file, save_file

from explorer.kernels.int4 import Int4Linear
from explorer.kernels.linears import codes_of_blocks, dense_linear, dense_weight, four_bit_blocks
from explorer.kernels.packed import PACKED
from explorer.models.adapters import (
    ADAPTER_CONFIG,
    ADAPTER_WEIGHTS,
    PREFIX,
    SUBFOLDER,
    UnmergedLinear,
    adapter_folder,
    read_adapter,
    serve_adapter,
    tuned_layer,
)
from explorer.records.errors import ExplorerError
from tests.decoding.tiny import tiny_model

TOKENS = torch.arange(9)
SCALING = 2.0


def write_adapter(folder, model, rank=4, size=0.3, own=None, seed=0):
    """A random LoRA of every linear layer but the LM head, in peft's format."""
    generator = torch.Generator().manual_seed(seed)
    tensors = {}
    for name, module in model.network.named_modules():
        if hasattr(module, "in_features") and name != "lm_head":
            for part, shape in (
                ("A", (rank, module.in_features)),
                ("B", (module.out_features, rank)),
            ):
                values = torch.randn(shape, generator=generator) * size / rank**0.5
                tensors[f"{PREFIX}{name}.lora_{part}.weight"] = values
    folder.mkdir(parents=True, exist_ok=True)
    save_file(tensors, folder / ADAPTER_WEIGHTS)
    config = {"peft_type": "LORA", "r": rank, "lora_alpha": SCALING * rank}
    (folder / ADAPTER_CONFIG).write_text(json.dumps(config))
    if own is not None:
        (folder / "config.json").write_text(json.dumps(own))
    return folder


def test_a_served_adapter_is_what_peft_computes(tmp_path):
    """peft's own loader is the reference."""
    peft = pytest.importorskip("peft")
    folder = write_adapter(tmp_path / "lora", tiny_model())
    reference = tiny_model()
    config = peft.LoraConfig(r=4, lora_alpha=8, target_modules=["q_proj", "k_proj", "v_proj",
                             "o_proj", "gate_proj", "up_proj", "down_proj"])  # fmt: skip
    wrapped = peft.get_peft_model(reference.network, config)
    peft.set_peft_model_state_dict(wrapped, load_file(folder / ADAPTER_WEIGHTS))
    served = tiny_model()
    serve_adapter(served, folder)
    ours, theirs = served.hidden_states(TOKENS), reference.hidden_states(TOKENS)
    torch.testing.assert_close(ours, theirs, rtol=1e-3, atol=1e-4)


def test_a_tuned_model_says_so(tmp_path):
    base = tiny_model()
    untouched, name = base.hidden_states(TOKENS), base.name
    serve_adapter(base, write_adapter(tmp_path / "lora", base))
    assert not torch.allclose(base.hidden_states(TOKENS), untouched, atol=1e-2)
    assert base.tuned == f"lossless with respect to the tuned model, not to {name}"
    assert base.tuned in base.notes[-1]
    assert "(merged)" in base.notes[-1]
    assert base.name.startswith(f"{name}, tuned (")
    other = tiny_model()
    serve_adapter(other, write_adapter(tmp_path / "other", other, seed=1))
    assert other.name != base.name  # caches of hidden states go by the name


@pytest.mark.parametrize(
    ("rounded", "expected"), [(True, "merged and quantised again"), (False, "unmerged")]
)
def test_packed_layers_are_served_as_they_were_trained(rounded, expected):
    torch.manual_seed(0)
    down, up = torch.randn(4, 64) * 0.1, torch.randn(32, 4) * 0.1
    packed = Int4Linear(
        codes_of_blocks(four_bit_blocks(torch.randn(32, 64))), None, torch.device("cpu")
    )
    tuned, way = tuned_layer(packed, down, up, rounded)
    assert way == expected
    assert isinstance(tuned, PACKED if rounded else UnmergedLinear)
    wanted = dense_weight(packed) + up @ down
    x = torch.randn(3, 64).bfloat16()
    error = (tuned(x) - x.float() @ wanted.T).abs().max()
    step = (dense_weight(packed).amax() - dense_weight(packed).amin()) / 15
    assert error < (8 * step if rounded else 0.3)


def test_an_unmerged_layer_gives_a_row_the_same_bits_beside_any_others():
    torch.manual_seed(0)
    codes = codes_of_blocks(four_bit_blocks(torch.randn(64, 96)))
    packed = Int4Linear(codes, None, torch.device("cpu"))
    layer = UnmergedLinear(packed, torch.randn(8, 96), torch.randn(64, 8))
    x = torch.randn(40, 96).bfloat16()
    whole = layer(x)
    for n in (1, 2, 7, 16, 17, 33):
        assert torch.equal(layer(x[:n]), whole[:n])
    assert torch.equal(layer(x[None])[0], whole)


def test_plain_layers_keep_their_dtype_and_bias():
    linear = dense_linear(torch.randn(8, 32).bfloat16(), torch.randn(8))
    tuned, way = tuned_layer(linear, torch.randn(2, 32), torch.randn(8, 2), True)
    assert (way, tuned.weight.dtype) == ("merged", torch.bfloat16)
    assert torch.equal(tuned.bias, linear.bias)


def test_which_adapter_is_served(tmp_path):
    heads = tmp_path / "heads"
    assert adapter_folder(None, [str(heads)]) is None
    beside = write_adapter(heads / SUBFOLDER, tiny_model())
    assert adapter_folder(None, ["owner/heads", str(heads)]) == beside
    assert adapter_folder("none", [str(heads)]) is None
    assert adapter_folder("elsewhere", [str(heads)]).name == "elsewhere"


def spoil_config(**values):
    def spoil(folder):
        raw = json.loads((folder / ADAPTER_CONFIG).read_text())
        (folder / ADAPTER_CONFIG).write_text(json.dumps(raw | values))

    return spoil


def spoil_tensors(change):
    def spoil(folder):
        tensors = load_file(folder / ADAPTER_WEIGHTS)
        first = sorted(tensors)[0]
        save_file(change(tensors, first), folder / ADAPTER_WEIGHTS)

    return spoil


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda folder: (folder / ADAPTER_CONFIG).unlink(), "no adapter"),
        (lambda folder: (folder / ADAPTER_WEIGHTS).unlink(), "no adapter"),
        (lambda folder: (folder / ADAPTER_CONFIG).write_text("{"), "cannot be read"),
        (lambda folder: (folder / ADAPTER_CONFIG).write_text("[1]"), "not a plain LoRA"),
        (lambda folder: (folder / ADAPTER_WEIGHTS).write_bytes(b"x"), "cannot be read"),
        (spoil_config(peft_type="IA3"), "not a plain LoRA"),
        (spoil_config(use_dora=True), "not a plain LoRA"),
        (spoil_config(r=0), "not a plain LoRA"),
        (spoil_config(lora_alpha="much"), "not a plain LoRA"),
        (spoil_tensors(lambda t, n: {k: v for k, v in t.items() if k != n}), "not a plain LoRA"),
        (spoil_tensors(lambda t, n: t | {n: t[n] * torch.nan}), "not numbers"),
        (spoil_tensors(lambda t, n: t | {n: torch.zeros(4, 33)}), "does not fit"),
        (
            spoil_tensors(
                lambda t, n: {k.replace("layers.0", "layers.9"): v for k, v in t.items()}
            ),
            "does not fit",
        ),
    ],
)
def test_what_is_no_adapter_of_this_base_is_refused_in_a_sentence(tmp_path, spoil, message):
    base = tiny_model()
    folder = write_adapter(tmp_path / "lora", base)
    spoil(folder)
    before, name = base.hidden_states(TOKENS), base.name
    with pytest.raises(ExplorerError, match=message):
        serve_adapter(base, folder)
    assert torch.equal(base.hidden_states(TOKENS), before)
    assert base.name == name


def test_the_scaling_is_in_the_matrices(tmp_path):
    folder = write_adapter(tmp_path / "lora", tiny_model())
    tensors = load_file(folder / ADAPTER_WEIGHTS)
    name, (down, up) = next(iter(read_adapter(folder).layers.items()))
    assert torch.equal(down, tensors[f"{PREFIX}{name}.lora_A.weight"])
    assert torch.equal(up, SCALING * tensors[f"{PREFIX}{name}.lora_B.weight"])
