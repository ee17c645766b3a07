"""Checkpoints that are quantised already run as stored, and are called what they are."""

import json

import pytest
import torch
from transformers import BitsAndBytesConfig, LlamaConfig, LlamaForCausalLM

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
    check_model(model)
    assert model.backend == "nf4"
    assert any("quantised already" in note for note in model.notes)
    theirs = original.model.layers[0].mlp.up_proj.weight
    assert torch.equal(model.network.model.layers[0].mlp.up_proj.weight, theirs)


@pytest.mark.parametrize("backend", ["bf16", "fp32"])
def test_another_backend_is_refused(nf4, backend):
    with pytest.raises(ExplorerError, match=r"quantised already \(nf4\) and runs as it is stored"):
        load(nf4[0], backend=backend)


def test_a_form_that_cannot_run_here_is_one_sentence(tmp_path):
    LlamaForCausalLM(LlamaConfig(**CONFIG)).save_pretrained(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    config["quantization_config"] = {"quant_method": "gptq", "bits": 4, "group_size": 128}
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(ExplorerError, match="stored as gptq-4bit, which cannot run here"):
        load(tmp_path)


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
