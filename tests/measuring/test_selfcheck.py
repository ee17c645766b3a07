"""The start-up check compares with the unmodified network's own logits, and cannot be fooled."""

import copy

import pytest
import torch
from transformers import (
    AutoModelForCausalLM,
    ElectraConfig,
    FalconConfig,
    GraniteConfig,
    HyperCLOVAXConfig,
    Lfm2Config,
    LlamaConfig,
    ModernBertDecoderConfig,
    MptConfig,
    Phi3Config,
    PhimoeConfig,
    RecurrentGemmaConfig,
)

from explorer.analysis.tree_names import cartesian
from explorer.decoding.acceptance import acceptance_rule
from explorer.decoding.lookahead import LookaheadDrafter
from explorer.decoding.loop import StepResult, decode
from explorer.decoding.medusa import MedusaDrafter
from explorer.decoding.plain import PlainDrafter
from explorer.measuring import probe, selfcheck
from explorer.measuring.probe import Probe
from explorer.measuring.selfcheck import check_architecture, check_model, wrapped
from explorer.records.errors import ExplorerError
from explorer.records.settings import DecodeSettings
from tests.decoding.tiny import SHAPE, random_heads, tiny_model

PROMPT = list(range(5, 25))
NO_GROUPS = {name: value for name, value in SHAPE.items() if name != "num_key_value_heads"}
BORDER = 32


def network(config):
    torch.manual_seed(0)
    net = AutoModelForCausalLM.from_config(copy.deepcopy(config)).eval().requires_grad_(False)
    for parameter in net.parameters():
        if parameter.dim() > 1:
            parameter.normal_(0, 0.3)
    return net


def checked(config):
    model = wrapped(network(config), config.model_type)
    check_model(model)
    return model


def text(model, drafter, count=40):
    rule = acceptance_rule(DecodeSettings(), model.context_length)
    steps = decode(model, drafter, rule, PROMPT, count)
    return [t for step in steps if isinstance(step, StepResult) for t in step.emitted]


def teacher_forced(config, count=40):
    """The unmodified network's greedy text, every token from a pass over the whole text."""
    net, ids = network(config), list(PROMPT)
    for _ in range(count):
        ids.append(int(net(input_ids=torch.tensor([ids])).logits[0, -1].argmax()))
    return ids[len(PROMPT) :]


HEADS = {
    "granite": GraniteConfig(**SHAPE, logits_scaling=4.0),
    "hyperclovax": HyperCLOVAXConfig(**SHAPE, logits_scaling=0.25),
    "modernbert": ModernBertDecoderConfig(**NO_GROUPS, cls_token_id=1, sep_token_id=2),
    "electra": ElectraConfig(**NO_GROUPS, embedding_size=32, is_decoder=True),
}


@pytest.mark.parametrize("config", HEADS.values(), ids=HEADS)
def test_logits_are_the_networks_own(config):
    model, tokens = checked(config), torch.arange(3, 30)
    theirs = network(config)(input_ids=tokens[None]).logits[0]
    assert torch.allclose(model.logits(model.hidden_states(tokens)), theirs, atol=1e-4)


def test_trees_are_lossless_where_a_layer_stands_before_the_lm_head():
    model = checked(HEADS["modernbert"])
    drafter = MedusaDrafter(random_heads(model), cartesian([4, 3, 2]))
    assert text(model, PlainDrafter()) == teacher_forced(HEADS["modernbert"])
    assert text(model, drafter) == text(model, PlainDrafter())


def test_a_head_that_does_what_no_setting_says_is_refused(monkeypatch):
    net = network(LlamaConfig(**SHAPE))
    net.lm_head.register_forward_hook(lambda module, given, logits: logits + given[0][..., :1])
    with pytest.raises(ExplorerError, match="LM head is more than a matrix"):
        check_model(wrapped(net, "odd"))


REFUSED = {
    "mpt": MptConfig(d_model=32, n_heads=4, n_layers=3, max_seq_len=256, vocab_size=96),
    "lfm2": Lfm2Config(**SHAPE, layer_types=["conv", "full_attention", "conv"]),
    "recurrent_gemma": RecurrentGemmaConfig(
        **SHAPE, lru_width=32, block_types=["recurrent", "recurrent", "attention"]
    ),
}


@pytest.mark.parametrize("config", REFUSED.values(), ids=REFUSED)
def test_what_no_tree_can_run_is_refused_from_the_configuration_alone(config):
    with pytest.raises(ExplorerError, match=r"is not supported: .*; choose"):
        check_architecture(config, "it")
    with pytest.raises(ExplorerError, match="is not supported"):
        checked(config)


def test_a_supported_architecture_passes_and_leaves_the_random_numbers_alone():
    torch.manual_seed(1)
    expected = torch.rand(3)
    torch.manual_seed(1)
    check_architecture(LlamaConfig(), "llama")
    assert torch.equal(torch.rand(3), expected)


def test_attention_that_the_fixed_order_kernel_does_not_know_falls_back_and_says_so():
    config = FalconConfig(
        vocab_size=96, hidden_size=32, num_hidden_layers=3, num_attention_heads=4, alibi=False
    )
    model = checked(config)
    assert text(model, PlainDrafter()) == teacher_forced(config)
    model = tiny_model("llama")
    assert model.fixed_order
    real = model.network.set_attn_implementation
    model.notes.clear()

    def set_attention(name):  # as if the kernel gave other numbers for this architecture
        real("sdpa")
        model.network.config._attn_implementation_internal = name

    model.network.set_attn_implementation = set_attention
    broken = selfcheck.our_logits

    def only_right_with_sdpa(model, tried):
        return broken(model, tried) + (1.0 if model.fixed_order else 0.0)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(selfcheck, "our_logits", only_right_with_sdpa)
        check_model(model)
    assert not model.fixed_order
    assert not model.bit_exact
    assert "Not bit-exact: only transformers' own attention (sdpa)" in model.notes[-1]


def longrope(kind, scales=None, **more):
    rope = {
        "rope_type": "longrope",
        "rope_theta": 10000.0,
        "factor": 8.0,
        "short_factor": [1.0] * 4,
        "long_factor": [4.0] * 4,
        "original_max_position_embeddings": BORDER,
        **(scales or {}),
    }
    return kind(**SHAPE, rope_parameters=rope, **more)


SWITCHING = {
    "phi3": lambda: longrope(Phi3Config, original_max_position_embeddings=BORDER),
    "phimoe": lambda: longrope(
        PhimoeConfig, {"short_mscale": 1.1, "long_mscale": 1.3}, num_local_experts=4
    ),
    "llama": lambda: longrope(LlamaConfig),
}


@pytest.mark.parametrize("make", SWITCHING.values(), ids=SWITCHING)
def test_texts_end_where_rotary_factors_would_switch(make):
    config = make()
    model = checked(config)
    assert model.context_length == BORDER
    assert any("rotary factors change" in note for note in model.notes)
    plain = text(model, PlainDrafter())
    assert plain == teacher_forced(config)[: BORDER - len(PROMPT)]
    drafter = MedusaDrafter(random_heads(model), cartesian([4, 3, 2]))
    assert text(model, drafter) == plain
    assert text(model, LookaheadDrafter(4, 3, 3)) == plain


def test_a_window_that_the_network_does_not_have_is_not_applied():
    config = LlamaConfig(**SHAPE, sliding_window=16)
    model = checked(config)
    assert text(model, PlainDrafter()) == teacher_forced(config)
    assert model.config.sliding_window is None  # or generate()'s cache would apply it


def test_a_window_that_the_network_has_stays():
    model = tiny_model("mistral")
    assert model.config.sliding_window == 7


def test_the_probe_is_longer_than_a_window_that_is_near():
    model = tiny_model("llama")
    model.config.sliding_window = 100
    assert len(Probe.of(model).prefix) > 100
    model.config.sliding_window = 100_000
    assert len(Probe.of(model).prefix) == probe.PREFIX
