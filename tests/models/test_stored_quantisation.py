"""Checkpoints that are quantised already run as stored, and are called what they are."""

import json

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import (
    BitsAndBytesConfig,
    GptOssConfig,
    GptOssForCausalLM,
    LlamaConfig,
    LlamaForCausalLM,
)

from explorer.measuring.selfcheck import check_model
from explorer.models import loader
from explorer.models.loader import load_model
from explorer.models.stored_quantisation import stored_as
from explorer.records.errors import ExplorerError
from explorer.weights.presets import model_options
from tests.tiny_lab import TinyTokenizer

CONFIG = {
    "vocab_size": 96, "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 128,
}  # fmt: skip


@pytest.fixture(autouse=True)
def _no_tokenizer(monkeypatch):
    class Tokenizer(TinyTokenizer):
        eos_token_id, chat_template = 2, None

    monkeypatch.setattr(loader.AutoTokenizer, "from_pretrained", lambda *_, **__: Tokenizer())


@pytest.fixture(scope="module")
def nf4(tmp_path_factory):
    """A checkpoint as people save it from transformers with bitsandbytes."""
    torch.manual_seed(0)
    plain, packed = tmp_path_factory.mktemp("plain"), tmp_path_factory.mktemp("nf4")
    LlamaForCausalLM(LlamaConfig(**CONFIG)).to(torch.bfloat16).save_pretrained(plain)
    how = BitsAndBytesConfig(
        load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=torch.bfloat16
    )
    network = LlamaForCausalLM.from_pretrained(
        plain, quantization_config=how, device_map="cpu", dtype=torch.bfloat16
    )
    network.save_pretrained(packed)
    return packed, network


def load(folder, **options):
    return load_model(model_options(model=str(folder), device="cpu", **options))


@pytest.mark.parametrize("backend", ["auto", "nf4"])
def test_its_own_codes_run_under_their_own_name(nf4, backend):
    folder, original = nf4
    model = load(folder, backend=backend)
    assert model.backend == "nf4"
    assert any("quantised already" in note for note in model.notes)
    theirs = original.model.layers[0].mlp.up_proj.weight
    assert torch.equal(model.network.model.layers[0].mlp.up_proj.weight, theirs)
    check_model(model)  # on some CPUs the first pass lays the codes out again


@pytest.mark.parametrize("backend", ["bf16", "fp32"])
def test_another_backend_is_refused(nf4, backend):
    with pytest.raises(ExplorerError, match=r"quantised already \(nf4\) and runs as it is stored"):
        load(nf4[0], backend=backend)


def rewrite(folder, quantisation, tensors):
    """Put other tensors, and how they are quantised, into a checkpoint."""
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    config = json.loads((folder / "config.json").read_text())
    if quantisation is not None:
        config["quantization_config"] = quantisation
    (folder / "config.json").write_text(json.dumps(config))


@pytest.fixture
def plain(tmp_path):
    """A checkpoint of a Llama in float32, its tensors, and the names of its layers' matrices."""
    torch.manual_seed(0)
    wide = CONFIG | {"hidden_size": 128}
    LlamaForCausalLM(LlamaConfig(**wide)).save_pretrained(tmp_path)
    tensors = load_file(tmp_path / "model.safetensors")
    return tmp_path, tensors, [name for name in tensors if name.endswith("proj.weight")]


def as_gptq(tensors, matrices):
    for name in matrices:
        rows, columns = tensors.pop(name).shape
        tensors[name.replace("weight", "qweight")] = torch.zeros(columns // 8, rows).int()
        tensors[name.replace("weight", "scales")] = torch.ones(columns // 64, rows).half()


@pytest.mark.parametrize("method", ["gptq", "awq"])
def test_a_form_whose_package_is_not_here_is_one_sentence(plain, method):
    folder, tensors, matrices = plain
    as_gptq(tensors, matrices)
    rewrite(folder, {"quant_method": method, "bits": 4, "group_size": 64}, tensors)
    with pytest.raises(
        ExplorerError, match=f"stored as {method}-4bit, which cannot run here .*pip"
    ):
        load(folder)


@pytest.mark.parametrize("method", ["modelopt", "exl2"])
def test_a_form_that_transformers_does_not_know_is_not_taken_for_plain_weights(plain, method):
    folder, tensors, _ = plain
    rewrite(folder, {"quant_method": method}, tensors)
    with pytest.raises(ExplorerError, match=f"stored as {method}, a form that transformers does"):
        load(folder)


def test_codes_that_the_configuration_does_not_name(plain):
    folder, tensors, matrices = plain
    as_gptq(tensors, matrices)
    rewrite(folder, None, tensors)
    with pytest.raises(ExplorerError, match="quantised in a form that its configuration does not"):
        load(folder)


@pytest.mark.skipif(torch.cuda.is_available(), reason="a GPU may run these codes as they are")
def test_fp8_runs_dequantised_on_a_cpu_and_says_so(plain):
    folder, tensors, matrices = plain
    expected = {}
    for name in matrices:
        blocks = tensors[name].unflatten(0, (-1, 64)).unflatten(2, (-1, 64))
        scales = blocks.abs().amax((1, 3)) / 448
        codes = (blocks / scales[:, None, :, None]).to(torch.float8_e4m3fn)
        expected[name] = (codes.float() * scales[:, None, :, None]).reshape(tensors[name].shape)
        tensors[name] = codes.reshape(tensors[name].shape)
        tensors[f"{name}_scale_inv"] = scales
    rewrite(folder, {"quant_method": "fp8", "weight_block_size": [64, 64]}, tensors)
    model = load(folder)
    assert model.backend in ("bf16", "fp32")
    assert f"{model.backend}: the checkpoint is stored as fp8, and runs dequantised." in model.notes
    for name in matrices:
        weight = model.network.get_parameter(name).float()
        torch.testing.assert_close(weight, expected[name], atol=1e-3, rtol=8e-3)
    check_model(model)


@pytest.mark.skipif(torch.cuda.is_available(), reason="a GPU may run these codes as they are")
def test_mxfp4_runs_dequantised_on_a_cpu_and_says_so(tmp_path):
    small = CONFIG | {"head_dim": 16, "num_local_experts": 2, "num_experts_per_tok": 2}
    torch.manual_seed(0)
    GptOssForCausalLM(GptOssConfig(**small)).to(torch.bfloat16).save_pretrained(tmp_path)
    tensors = load_file(tmp_path / "model.safetensors")
    expected = {}
    for name in [n for n in tensors if n.endswith(("gate_up_proj", "down_proj"))]:
        experts, columns, rows = tensors.pop(name).shape  # it multiplies from the other side
        codes = torch.randint(0, 256, (experts, rows, columns // 32, 16), dtype=torch.uint8)
        exponents = torch.randint(120, 124, codes.shape[:3], dtype=torch.uint8)
        tensors[f"{name}_blocks"], tensors[f"{name}_scales"] = codes, exponents
        pairs = torch.stack([codes & 15, codes >> 4], -1).flatten(3).long()
        values = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6])[pairs & 7] * (1 - 2 * (pairs >> 3))
        scaled = values * 2.0 ** (exponents[..., None].float() - 127)
        expected[name] = scaled.flatten(2).transpose(1, 2)
    rewrite(tmp_path, {"quant_method": "mxfp4"}, tensors)
    model = load(tmp_path)
    assert "bf16: the checkpoint is stored as mxfp4, and runs dequantised." in model.notes
    for name, values in expected.items():
        assert torch.equal(model.network.get_parameter(name).float(), values)
    check_model(model)


@pytest.mark.parametrize(
    ("given", "name"),
    [
        (None, None),
        ({"load_in_8bit": True, "quant_method": "bitsandbytes"}, "bnb-int8"),
        ({"load_in_4bit": True, "bnb_4bit_quant_type": "fp4"}, "bnb-fp4"),
        ({"quant_method": "awq", "bits": 4}, "awq-4bit"),
        ({"quant_method": "fp8"}, "fp8"),
        ({"quant_method": "mxfp4"}, "mxfp4"),
    ],
)
def test_names(given, name):
    config = LlamaConfig(**CONFIG)
    if given is not None:
        config.quantization_config = given
    assert stored_as(config) == name
