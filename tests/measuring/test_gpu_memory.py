"""What fits a GPU, by configuration; and what is said where it does not."""

import pytest
import torch
from transformers import LlamaConfig, MistralConfig

from explorer.heads.heads_config import HeadsConfig
from explorer.measuring.memory_need import memory_need
from explorer.measuring.peak_memory import peak_memory
from explorer.models.memory_full import full_memory_explained
from explorer.models.static_pass import static_pass
from explorer.records.errors import ExplorerError
from tests.decoding.tiny import tiny_model
from tests.tiny_lab import tiny_lab

# The published configurations of the presets' base models, as far as sizes go.
VICUNA = LlamaConfig(
    vocab_size=32000, hidden_size=4096, intermediate_size=11008, num_hidden_layers=32,
    num_attention_heads=32, num_key_value_heads=32,
)  # fmt: skip
MISTRAL = MistralConfig(
    vocab_size=32000, hidden_size=4096, intermediate_size=14336, num_hidden_layers=32,
    num_attention_heads=32, num_key_value_heads=8,
)  # fmt: skip
HEADS = HeadsConfig(kind="own", num_heads=5, num_blocks=1, hidden_size=4096, vocab_size=32000)


@pytest.mark.parametrize("config", [VICUNA, MISTRAL])
def test_a_7b_preset_with_8k_tokens_fits_16_gb(config):
    need = memory_need(config, 8192, HEADS)
    assert 3.5e9 < need.weights < 4.8e9
    assert need.heads == pytest.approx(2 * 5 * (32000 * 4096 + 4096 * 4096 + 4096))
    assert need.total < 16e9


def test_the_cache_of_vicuna_is_half_a_megabyte_a_token():
    short, long = (memory_need(VICUNA, length).caches for length in (1000, 2000))
    assert long - short == 2 * 1000 * 524_288  # of two texts


def test_a_full_gpu_is_reported_in_one_sentence(monkeypatch):
    lab = tiny_lab()

    def full(*_):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")

    monkeypatch.setattr(type(lab.model), "forward", full)
    with pytest.raises(ExplorerError) as sentence:
        lab.run("ab", max_new_tokens=4)
    assert "The GPU's memory is full while" in str(sentence.value)
    assert "lower --max-new-tokens" in str(sentence.value)
    assert "\n" not in str(sentence.value)


def test_a_full_machine_is_reported_too():
    found = pytest.raises(ExplorerError, match="machine's memory is full while loading")
    with found, full_memory_explained("loading"):
        raise MemoryError


def test_layers_on_several_devices_run_eagerly_and_the_note_says_what_that_is():
    model = tiny_model()
    model.device = torch.device("cuda")
    model.network.base_model.layers[1].to("meta")
    model.notes.clear()
    assert static_pass(model) is None
    assert "the layers lie on cpu, meta" in model.notes[0]
    assert "not tensor parallelism" in model.notes[0]


def test_on_a_cpu_nothing_is_recorded():
    assert static_pass(tiny_model()) is None
    peak = peak_memory(torch.device("cpu"))
    assert peak.bytes > 50e6
    assert "CPU" in peak.of
