"""Nothing that a GGUF says is dropped in silence: it is used, or refused by its name."""

import gguf
import numpy as np
import pytest
import torch

from explorer.measuring.selfcheck import check_model
from explorer.models.loader import load_model
from explorer.records.errors import ExplorerError
from explorer.weights import gguf_cache
from explorer.weights.gguf_file import GGUFFile
from explorer.weights.presets import model_options
from tests.weights.tiny_gguf import VOCAB, write_gguf


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("MEDUSA_EXPLORER_CACHE", str(tmp_path / "cache"))


def load(path):
    return load_model(model_options(model=str(path), backend="fp32", device="cpu"))


def frequencies(model):
    return model.network.model.rotary_emb.inv_freq


def linear(writer):
    writer.add_rope_scaling_type(gguf.RopeScalingType.LINEAR)
    writer.add_rope_scaling_factor(4.0)


def yarn(writer):
    writer.add_rope_scaling_type(gguf.RopeScalingType.YARN)
    writer.add_rope_scaling_factor(4.0)
    writer.add_rope_scaling_orig_ctx_len(32)


def llama3(writer):
    writer.add_tensor("rope_freqs.weight", np.array([1, 1, 2, 4, 8, 8, 8, 8], dtype=np.float32))


PLAIN = 10000.0 ** (-torch.arange(0, 16, 2) / 16)


@pytest.mark.parametrize("arch", ["llama", "qwen2"])
def test_linear_rotary_scaling_is_applied(tmp_path, arch):
    model = load(write_gguf(tmp_path / "a.gguf", arch, extra=linear))
    assert torch.allclose(frequencies(model), PLAIN / 4)


def test_yarn_rotary_scaling_is_applied(tmp_path):
    model = load(write_gguf(tmp_path / "a.gguf", extra=yarn))
    ours = frequencies(model)
    assert torch.allclose(ours[0], PLAIN[0])  # the fastest stay
    assert torch.allclose(ours[-1], PLAIN[-1] / 4)  # the slowest are stretched
    assert model.network.model.rotary_emb.attention_scaling == pytest.approx(1 + 0.1 * np.log(4))


def test_listed_rotary_factors_are_applied_over_the_whole_context(tmp_path):
    model = load(write_gguf(tmp_path / "a.gguf", extra=llama3))
    factors = torch.tensor([1.0, 1, 2, 4, 8, 8, 8, 8])
    assert torch.allclose(frequencies(model), PLAIN / factors)
    assert model.network.model.rotary_emb.attention_scaling == 1.0
    assert model.context_length == 128


@pytest.mark.parametrize(
    ("key", "add"),
    [
        ("expert_count", lambda w: w.add_expert_count(4)),
        ("attention.sliding_window", lambda w: w.add_sliding_window(16)),
        ("logit_scale", lambda w: w.add_logit_scale(0.5)),
        ("attention.scale", lambda w: w.add_attention_scale(0.2)),
        ("rope.dimension_count", lambda w: w.add_rope_dimension_count(8)),
        ("attention.value_length", lambda w: w.add_value_length(8)),
        ("rope.scaling.type", lambda w: w.add_string("qwen2.rope.scaling.type", "longrope")),
        ("final_logit_softcapping", lambda w: w.add_final_logit_softcapping(30.0)),
        ("attention.causal", lambda w: w.add_causal_attention(False)),
        ("attention.clamp_kqv", lambda w: w.add_clamp_kqv(8.0)),
        ("expert_shared_feed_forward_length", lambda w: w.add_expert_shared_feed_forward_length(8)),
        ("something_new", lambda w: w.add_float32("qwen2.something_new", 2.0)),
    ],
)
def test_a_setting_that_is_not_used_is_refused_by_its_name(tmp_path, key, add):
    path = write_gguf(tmp_path / "a.gguf", "qwen2", extra=add)
    with pytest.raises(ExplorerError, match=f"sets 'qwen2.{key}' to"):
        load(path)


@pytest.mark.parametrize(
    "add",
    [
        lambda w: w.add_expert_count(0),
        lambda w: w.add_sliding_window(128),
        lambda w: w.add_rope_dimension_count(16),
        lambda w: w.add_key_length(16),
        lambda w: w.add_causal_attention(True),
        lambda w: w.add_string("qwen2.rope.scaling.type", "none"),
    ],
)
def test_a_setting_that_changes_nothing_is_no_reason_to_refuse(tmp_path, add):
    assert load(write_gguf(tmp_path / "a.gguf", "qwen2", extra=add)).context_length == 128


def test_scaling_without_its_size_is_refused(tmp_path):
    path = write_gguf(
        tmp_path / "a.gguf", extra=lambda w: w.add_rope_scaling_type(gguf.RopeScalingType.LINEAR)
    )
    with pytest.raises(ExplorerError, match=r"does not say by how much .*rope.scaling.factor"):
        load(path)


def test_a_tensor_that_no_weight_is_made_of_is_refused(tmp_path):
    def bias(writer):
        writer.add_tensor("blk.0.attn_q.bias", np.ones(64, dtype=np.float32))

    path = write_gguf(tmp_path / "a.gguf", "llama", extra=bias)
    with pytest.raises(ExplorerError, match=r"'blk.0.attn_q.bias', which the network .* no place"):
        load(path)


def test_yarns_attention_factor_is_multiplied_by_the_files_own(tmp_path):
    def scaled(writer):
        yarn(writer)
        writer.add_rope_scaling_attn_factors(0.5)

    model = load(write_gguf(tmp_path / "a.gguf", extra=scaled))
    wanted = 0.5 * (1 + 0.1 * np.log(4))
    assert model.network.model.rotary_emb.attention_scaling == pytest.approx(wanted)


def test_two_lists_of_factors_are_longrope(tmp_path):
    def long(writer):
        writer.add_rope_scaling_orig_ctx_len(32)
        writer.add_rope_scaling_attn_factors(1.25)
        for name, factor in (("long", 4.0), ("short", 2.0)):
            writer.add_tensor(f"rope_factors_{name}.weight", np.full(8, factor, dtype=np.float32))

    model = load(write_gguf(tmp_path / "a.gguf", "qwen2", extra=long))
    assert torch.allclose(frequencies(model), PLAIN / 2)
    assert model.network.model.rotary_emb.attention_scaling == 1.25
    check_model(model)
    assert model.context_length == 32  # the border


@pytest.mark.parametrize(
    ("kind", "said"),
    [("nonsense", "is 'nonsense'\\)"), ("llama", "is 'llama' without 'tokenizer.ggml.scores'\\)")],
)
def test_a_vocabulary_that_cannot_be_converted_is_named(tmp_path, kind, said):
    path = write_gguf(tmp_path / "a.gguf", tokenizer=kind)
    with pytest.raises(ExplorerError, match=f"tokenizer of a.gguf could not be converted .*{said}"):
        load(path)


@pytest.mark.parametrize("key", ["eot_token_id", "bos_token_id"])
def test_a_special_token_beyond_the_vocabulary_is_refused(tmp_path, key):
    path = write_gguf(tmp_path / "a.gguf", extra=lambda w: getattr(w, f"add_{key}")(999))
    with pytest.raises(ExplorerError, match=f"'tokenizer.ggml.{key}' to 999 and has only"):
        load(path)


def stablelm(writer):
    """What the architecture has beyond llama's, for transformers' own reader of GGUFs."""
    linear(writer)
    writer.add_layer_norm_eps(1e-5)
    writer.add_rope_dimension_count(8)
    norms = [f"blk.{i}.{part}_norm.bias" for i in range(2) for part in ("attn", "ffn")]
    for name in ("output_norm.bias", *norms):
        writer.add_tensor(name, np.zeros(64, dtype=np.float32))


def test_settings_hold_where_transformers_builds_the_network(tmp_path):
    model = load(write_gguf(tmp_path / "a.gguf", "stablelm", extra=stablelm))
    assert torch.allclose(frequencies(model), 10000.0 ** (-torch.arange(0, 8, 2) / 8) / 4)


@pytest.mark.parametrize("name", ["attn_output.bias", "attn_q_norm.weight", "attn_sinks.weight"])
def test_a_tensor_that_transformers_leaves_lying_is_refused(tmp_path, name):
    def odd(writer):
        stablelm(writer)
        writer.add_tensor(f"blk.0.{name}", np.ones(64, dtype=np.float32))

    path = write_gguf(tmp_path / "a.gguf", "stablelm", extra=odd)
    with pytest.raises(ExplorerError, match=f"'blk.0.{name}', which the network of its"):
        load(path)


def test_a_tensor_that_transformers_would_make_up_is_refused(tmp_path):
    path = write_gguf(
        tmp_path / "a.gguf", "stablelm", extra=stablelm, leave_out="blk.1.ffn_up.weight"
    )
    with pytest.raises(ExplorerError, match=r"lacks the weight 'model\.layers\.1\.mlp\.up_proj"):
        load(path)


def test_every_token_that_ends_a_turn_ends_a_text(tmp_path):
    path = write_gguf(tmp_path / "a.gguf", extra=lambda w: w.add_eot_token_id(0))
    assert load(path).eos_ids == {0, 2}


def test_marks_outside_the_byte_alphabet_keep_their_ids(tmp_path):
    marks = ["<｜User｜>", "<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>"]
    model = load(write_gguf(tmp_path / "a.gguf", "qwen2", vocab=[*marks, *VOCAB[3:]]))
    ids = model.tokenizer("".join(marks) + "he", add_special_tokens=False)["input_ids"]
    assert ids == [0, 1, 2, VOCAB.index("he")]
    assert model.eos_ids == {2}
    assert model.tokenizer.bos_token_id == 1
    assert max(model.tokenizer.get_vocab().values()) < model.vocab_size
    assert model.tokenizer.decode(ids[3:]) == "he"


def test_one_part_of_a_split_file_says_what_to_do(tmp_path):
    def part(writer):
        writer.add_uint16("split.no", 0)
        writer.add_uint16("split.count", 2)

    path = write_gguf(tmp_path / "a.gguf", extra=part, leave_out="blk.1.ffn_up.weight")
    with pytest.raises(ExplorerError, match=r"part 1 of 2 .*llama-gguf-split --merge"):
        load(path)


def test_what_older_code_converted_is_not_used_again(tmp_path, monkeypatch):
    file = GGUFFile(write_gguf(tmp_path / "a.gguf"))
    before = gguf_cache.described(file)
    assert gguf_cache.described(file) == before
    monkeypatch.setattr(gguf_cache, "_code", lambda: "other code")
    assert gguf_cache.described(file) != before


def test_a_weight_of_another_shape_names_both_shapes(tmp_path):
    path = write_gguf(tmp_path / "a.gguf", "qwen2", extra=lambda w: w.add_key_length(32))
    with pytest.raises(ExplorerError, match=r"in the shape \[64, 64\], and its settings ask for"):
        load(path)
