"""Loading: every backend gives the file's own weights; what cannot be loaded says so."""

from __future__ import annotations

import json
import logging

import gguf
import pytest
import torch
from transformers import AutoModelForCausalLM, GgufConfig

from explorer.kernels.isa import instruction_set
from explorer.kernels.packed import PACKED
from explorer.measuring.selfcheck import check_model
from explorer.models import gguf_network, loader
from explorer.models.loader import load_model
from explorer.records.errors import ExplorerError
from explorer.weights.presets import model_options
from tests.decoding.tiny import tiny_model
from tests.weights.tiny_gguf import VOCAB, write_gguf

TYPES = gguf.GGMLQuantizationType
TOKENS = torch.arange(3, 43)


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("MEDUSA_EXPLORER_CACHE", str(tmp_path / "cache"))


def load(path, backend="auto"):
    return load_model(model_options(model=str(path), backend=backend, device="cpu"))


def reference(path) -> torch.Tensor:
    """Logits by transformers alone, from the dequantised file in float32."""
    network = AutoModelForCausalLM.from_pretrained(
        path.parent,
        gguf_file=path.name,
        dtype=torch.float32,
        quantization_config=GgufConfig(dequantize=True),
    )
    with torch.no_grad():
        return network(TOKENS[None]).logits[0]


@pytest.mark.parametrize("arch", ["llama", "qwen2"])
@pytest.mark.parametrize("kind", [TYPES.Q4_0, TYPES.Q4_1], ids=["Q4_0", "Q4_1"])
@pytest.mark.parametrize("backend", ["int4", "nf4", "bf16", "fp32"])
def test_every_backend_runs_the_files_weights(tmp_path, arch, kind, backend):
    path = write_gguf(tmp_path / "tiny.gguf", arch, kind)
    model = load(path, backend)
    check_model(model)
    logits = model.logits(model.hidden_states(TOKENS))
    expected = reference(path)
    error = (logits - expected).square().mean().sqrt() / expected.std()
    assert error < {"fp32": 1e-5, "bf16": 0.06, "int4": 0.06, "nf4": 0.8}[backend]
    packed = sum(isinstance(module, PACKED) for module in model.network.modules())
    assert packed == (14 if backend == "int4" else 0)


def test_auto_takes_the_codes_and_says_why(tmp_path):
    model = load(write_gguf(tmp_path / "tiny.gguf"))
    assert model.backend == "int4"
    assert any("4-bit codes" in note for note in model.notes)
    check_model(model)
    assert model.bit_exact
    assert model.eos_ids == {2}
    assert model.vocab_size == len(VOCAB)


@pytest.mark.skipif(instruction_set() is None, reason="this CPU has no integer kernels")
def test_eight_bit_codes_run_on_the_integer_kernels(tmp_path):
    path = write_gguf(tmp_path / "tiny.gguf", kind=TYPES.Q8_0)
    model = load(path)
    assert model.backend == "int4"
    assert any("8-bit codes" in note for note in model.notes)
    check_model(model)
    assert model.bit_exact
    logits = model.logits(model.hidden_states(TOKENS))
    assert (logits - reference(path)).abs().max() < 0.1 * reference(path).abs().max()


@pytest.mark.skipif(instruction_set() is None, reason="this CPU has no integer kernels")
def test_matrices_of_another_type_are_converted_and_named(tmp_path):
    path = write_gguf(tmp_path / "mixed.gguf", kinds={"ffn_down": TYPES.F16})
    model = load(path)
    assert model.backend == "int4"
    assert any("F16 run in 8 bits" in note for note in model.notes)
    packed = [module for module in model.network.modules() if isinstance(module, PACKED)]
    assert len(packed) == 14
    logits = model.logits(model.hidden_states(TOKENS))
    assert (logits - reference(path)).abs().max() < 0.1 * reference(path).abs().max()
    assert not any("run in 8 bits" in note for note in load(path, "fp32").notes)


def test_an_architecture_that_transformers_must_convert(tmp_path, monkeypatch):
    monkeypatch.setattr(gguf_network, "ONE_TO_ONE", set())
    path = write_gguf(tmp_path / "tiny.gguf")
    model = load(path, "fp32")
    logits = model.logits(model.hidden_states(TOKENS))
    torch.testing.assert_close(logits, reference(path), atol=1e-4, rtol=1e-4)
    assert load(path).backend != "int4"


def test_a_second_start_reads_what_the_first_converted(tmp_path):
    path = write_gguf(tmp_path / "tiny.gguf")
    first, second = load(path, "bf16"), load(path, "bf16")
    text = "hello, wörld 🙂"
    assert first.tokenizer(text)["input_ids"] == second.tokenizer(text)["input_ids"]
    assert second.tokenizer.decode(second.tokenizer(text)["input_ids"]) == text


def test_nf4_says_nothing_alarming(tmp_path, caplog, capfd):
    path = write_gguf(tmp_path / "tiny.gguf")
    with caplog.at_level(logging.DEBUG):
        model = load(path, "nf4")
        model.hidden_states(TOKENS)
        model.hidden_states(TOKENS[:1])
    assert [note for note in model.notes if "without its optional kernels" in note]
    printed = "".join(capfd.readouterr()) + caplog.text
    assert "kernels" not in printed + caplog.text
    assert "Traceback" not in printed


def bad_files(folder):
    whole = write_gguf(folder / "whole.gguf").read_bytes()
    (folder / "cut.gguf").write_bytes(whole[: len(whole) // 2])
    (folder / "header.gguf").write_bytes(whole[:900])
    (folder / "zero.gguf").write_bytes(b"")
    (folder / "other.gguf").write_bytes(b"PK\x03\x04 not a model")
    write_gguf(folder / "lacking.gguf", leave_out="blk.1.ffn_up.weight")
    odd = folder / "odd"
    odd.mkdir()
    (odd / "config.json").write_text(json.dumps({"model_type": "no_such_model"}))
    (folder / "empty").mkdir()
    return [*(f"{n}.gguf" for n in ("cut", "header", "zero", "other", "lacking")), "odd", "empty"]


def test_what_cannot_be_loaded_is_one_clear_sentence(tmp_path):
    for name in bad_files(tmp_path):
        with pytest.raises(ExplorerError) as caught:
            load(tmp_path / name)
        assert "\n" not in str(caught.value), name


def test_a_folder_that_is_damaged_is_not_the_network(tmp_path):
    (tmp_path / "config.json").write_text("{not json")
    with pytest.raises(ExplorerError, match="damaged or incomplete") as caught:
        load(tmp_path)
    assert "network" not in str(caught.value)


@pytest.mark.parametrize("quantised", [None, {"quant_method": "fp8"}, {"load_in_4bit": True}])
def test_a_folder_without_weights_says_so(tmp_path, quantised):
    tiny_model("llama").network.config.save_pretrained(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    if quantised:
        config["quantization_config"] = quantised
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(ExplorerError, match=r"There are no weights in .*: download the model"):
        load(tmp_path)


def test_int4_without_codes_and_hub_models_offline(tmp_path, monkeypatch):
    path = write_gguf(tmp_path / "tiny.gguf", kind=TYPES.F16)
    with pytest.raises(ExplorerError, match="int4 backend runs the codes"):
        load(path, "int4")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(ExplorerError) as caught:
        load("no-such-owner/no-such-model")
    assert "network" in str(caught.value) or "offline" in str(caught.value)


def test_out_of_memory_is_one_clear_sentence(tmp_path, monkeypatch):
    path = write_gguf(tmp_path / "tiny.gguf")

    def full(*_):
        raise RuntimeError("DefaultCPUAllocator: not enough memory: you tried to allocate 9 bytes")

    monkeypatch.setattr(loader, "fill", full)
    with pytest.raises(ExplorerError, match="not enough memory"):
        load(path)


def test_cuda_without_a_gpu(tmp_path):
    if torch.cuda.is_available():
        return
    with pytest.raises(ExplorerError, match="--device cpu"):
        load_model(model_options(model=str(write_gguf(tmp_path / "tiny.gguf")), device="cuda"))


@pytest.mark.parametrize("backend", ["auto", "nf4", "bf16", "fp32"])
def test_a_local_folder(tmp_path, backend):
    folder = tmp_path / "folder"
    load(write_gguf(tmp_path / "tiny.gguf"), "bf16").tokenizer.save_pretrained(folder)
    whole = tiny_model("llama")
    whole.network.save_pretrained(folder)
    model = load(folder, backend)
    check_model(model)
    logits = model.logits(model.hidden_states(TOKENS % 96))
    expected = whole.logits(whole.hidden_states(TOKENS % 96))
    assert (logits - expected).square().mean().sqrt() / expected.std() < 0.8
    assert model.name == "folder"
    assert model.backend == backend or backend == "auto"
    with pytest.raises(ExplorerError, match="int4 backend"):
        load(folder, "int4")


def test_a_models_own_code_is_never_run_nor_asked_about(tmp_path, monkeypatch, capfd):
    ran = tmp_path / "ran"
    (tmp_path / "config.json").write_text(
        '{"model_type": "evil", "auto_map": {"AutoConfig": "configuration_evil.EvilConfig"}}'
    )
    (tmp_path / "configuration_evil.py").write_text(
        f"open({str(ran)!r}, 'w').write('x')\n"
        "from transformers import PretrainedConfig\n"
        "class EvilConfig(PretrainedConfig):\n    model_type = 'evil'\n"
    )
    monkeypatch.setattr("builtins.input", lambda *_: "y")
    with pytest.raises(ExplorerError, match="needs Python code of its own, which is never run"):
        load_model(model_options(model=str(tmp_path)))
    assert not ran.exists()
    assert "Do you wish" not in "".join(capfd.readouterr())


def test_a_file_that_cannot_be_read_is_not_the_network(tmp_path, monkeypatch):
    path = write_gguf(tmp_path / "a.gguf")

    def refuse(*_):
        raise PermissionError(13, "Permission denied", "/somewhere/config.json")

    monkeypatch.setattr(loader, "described", refuse)
    with pytest.raises(ExplorerError, match=r"/somewhere/config.json: Permission denied"):
        load_model(model_options(model=str(path)))


def test_a_repository_with_ggufs_alone_says_how_to_name_one(monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr(loader.hub, "gguf_files", lambda repo: ["a.Q4_0.gguf", "b.Q8_0.gguf"])
    with pytest.raises(ExplorerError, match=r"GGUF files only: name one .* owner/repo:a.Q4_0.gguf"):
        load_model(model_options(model="owner/repo"))


def test_a_step_reads_the_codes_as_they_are_stored(tmp_path):
    model = load_model(model_options(model=str(write_gguf(tmp_path / "m.gguf")), backend="int4"))
    assert model.gguf == tmp_path / "m.gguf"
    head = model.lm_head.stored.nbytes
    inside = model.step_bytes(0) - head
    weights = sum(
        module.in_features * module.out_features
        for module in model.network.base_model.modules()
        if isinstance(module, PACKED)
    )
    # half a byte for a weight, two numbers of 16 bits for a group of 32; then norms and angles
    assert 0.625 * weights <= inside <= 0.625 * weights + 4096
