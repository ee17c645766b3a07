"""Sizes of a GGUF that transformers reads under another name, or leaves at a class's default."""

import math

import pytest
from transformers import AutoConfig

from explorer.records.errors import ExplorerError
from explorer.weights.gguf_cache import described
from explorer.weights.gguf_file import GGUFFile
from tests.weights.tiny_gguf import write_gguf


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("MEDUSA_EXPLORER_CACHE", str(tmp_path / "cache"))


def config(tmp_path, arch, extra=None, **more):
    path = write_gguf(tmp_path / "a.gguf", arch, extra=extra, **more)
    return AutoConfig.from_pretrained(described(GGUFFile(path)))


def layer_norm(writer):
    writer.add_layer_norm_eps(1e-2)


@pytest.mark.parametrize("arch", ["starcoder2", "stablelm", "llama"])
def test_the_base_of_rotary_frequencies_is_the_files(tmp_path, arch):
    def extra(writer):
        layer_norm(writer)
        writer.kv_data[0][f"{arch}.rope.freq_base"].value = 500.0

    assert config(tmp_path, arch, extra).rope_parameters["rope_theta"] == 500.0


@pytest.mark.parametrize("arch", ["stablelm", "nemotron"])
def test_all_of_a_head_turns_where_the_file_says_so_or_says_nothing(tmp_path, arch):
    for number, size in enumerate((None, 16)):

        def extra(writer, size=size):
            layer_norm(writer)
            if size:
                writer.add_rope_dimension_count(size)

        folder = tmp_path / str(number)
        folder.mkdir()
        assert config(folder, arch, extra).rope_parameters["partial_rotary_factor"] == 1.0


@pytest.mark.parametrize("arch", ["starcoder2", "nemotron"])
def test_the_small_number_of_layer_norms_is_the_files(tmp_path, arch):
    found = config(tmp_path, arch, layer_norm)
    name = next(n for n in ("norm_eps", "norm_epsilon") if hasattr(found, n))
    assert getattr(found, name) == pytest.approx(1e-2)


def test_a_file_without_the_small_number_of_its_norms_is_refused(tmp_path):
    def without(writer):
        del writer.kv_data[0]["llama.attention.layer_norm_rms_epsilon"]
        layer_norm(writer)

    with pytest.raises(ExplorerError, match=r"lacks 'llama\.attention\.layer_norm_rms_epsilon'"):
        config(tmp_path, "llama", without)


def test_heads_share_the_hidden_size_where_no_length_is_given(tmp_path):
    assert config(tmp_path, "qwen3").head_dim == 16  # its class has 128


def test_scores_of_gemma_are_divided_by_the_root_of_the_head_size(tmp_path):
    def gemma(writer):
        writer.add_key_length(32)
        writer.add_value_length(32)

    assert config(tmp_path, "gemma2", gemma).query_pre_attn_scalar == 32


def test_a_factor_without_a_type_scales_linearly_also_under_its_old_name(tmp_path):
    for number, key in enumerate(("rope.scaling.factor", "rope.scale_linear")):
        folder = tmp_path / str(number)
        folder.mkdir()
        found = config(folder, "llama", lambda w, key=key: w.add_float32(f"llama.{key}", 4.0))
        assert found.rope_parameters["rope_type"] == "linear"
        assert found.rope_parameters["factor"] == 4.0


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("attention.head_count", 0),
        ("attention.head_count_kv", 3),
        ("attention.head_count_kv", [2, 1]),
        ("block_count", 1 << 30),
        ("context_length", 0),
        ("rope.freq_base", math.nan),
        ("rope.freq_base", -1.0),
        ("attention.layer_norm_rms_epsilon", math.inf),
        ("rope.dimension_count", 24),
        ("rope.freq_base_swa", 500.0),
        ("use_parallel_residual", True),
        ("expert_used_count", 9),
    ],
)
def test_a_value_that_no_network_can_have_is_refused_by_its_key(tmp_path, key, value):
    def broken(writer):
        layer_norm(writer)
        writer.add_expert_count(4 if key == "expert_used_count" else 0)
        name = f"stablelm.{key}"
        writer.kv_data[0].pop(name, None)
        add = {bool: writer.add_bool, int: writer.add_uint32, float: writer.add_float32}
        add.get(type(value), writer.add_array)(name, value)

    with pytest.raises(ExplorerError, match=f"sets 'stablelm.{key}' to"):
        config(tmp_path, "stablelm", broken)


def test_special_tokens_that_the_file_does_not_name_are_none(tmp_path):
    def unnamed(writer):
        for key in ("bos", "eos"):
            del writer.kv_data[0][f"tokenizer.ggml.{key}_token_id"]

    found = config(tmp_path, "phi3", unnamed)  # whose class has ids beyond this vocabulary
    assert (found.bos_token_id, found.eos_token_id, found.pad_token_id) == (None, None, None)


@pytest.mark.parametrize("key", ["padding_token_id", "unknown_token_id"])
def test_other_special_tokens_beyond_the_vocabulary_are_refused_too(tmp_path, key):
    with pytest.raises(ExplorerError, match=f"'tokenizer.ggml.{key}' to 999 and has only"):
        config(tmp_path, "llama", lambda w: w.add_uint32(f"tokenizer.ggml.{key}", 999))


def test_a_token_that_ends_a_turn_in_the_chat_template_ends_a_text(tmp_path):
    def chat(writer):
        writer.kv_data[0]["tokenizer.ggml.eos_token_id"].value = 0
        writer.add_chat_template("{% for m in messages %}{{ m.content }}<|im_end|>{% endfor %}")

    assert set(config(tmp_path, "llama", chat).eos_token_id) == {0, 2}


def test_a_file_that_was_cut_off_is_said_to_be_so(tmp_path):
    path = write_gguf(tmp_path / "a.gguf")
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(ExplorerError, match="is cut off"):
        GGUFFile(path)
