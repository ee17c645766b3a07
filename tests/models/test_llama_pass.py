"""The compiled pass computes what the network computes, whatever the shape of a pass."""

import copy

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from explorer.analysis.tree_names import cartesian
from explorer.decoding.cache import KVCache
from explorer.decoding.tree import chain
from explorer.kernels.isa import instruction_set
from explorer.kernels.linears import codes_of_blocks, four_bit_blocks
from explorer.kernels.llama_cache import GROW_BY
from explorer.kernels.matrices import IntegerLinear
from explorer.models.base import LanguageModel
from explorer.models.llama_pass import PROJECTIONS, llama_pass
from explorer.models.loader import choose_attention, make_lm_head

pytestmark = pytest.mark.skipif(
    instruction_set() is None, reason="this CPU has none of the dot instructions"
)
CPU = torch.device("cpu")
VOCAB = 120
LLAMA3 = {
    "rope_type": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 128,
    "rope_theta": 10000.0,
}


def network(bias=False, **changes):
    torch.manual_seed(0)
    sizes = {
        "vocab_size": VOCAB,
        "hidden_size": 96,
        "intermediate_size": 160,
        "num_hidden_layers": 3,
        "num_attention_heads": 6,
        "num_key_value_heads": 2,
        "head_dim": 32,
        "max_position_embeddings": 1024,
        "attention_bias": bias,
    }
    made = LlamaForCausalLM(LlamaConfig(**sizes | changes)).to(torch.bfloat16).eval()
    for layer in made.model.layers:
        for path in PROJECTIONS.values():
            linear = layer.get_submodule(path)
            weight = torch.randn(linear.weight.shape) * 0.15
            codes = codes_of_blocks(four_bit_blocks(weight))
            layer.set_submodule(path, IntegerLinear(codes, linear.bias))
    choose_attention(made, CPU)
    return made.requires_grad_(False)


def model(**changes):
    made = network(**changes)
    return LanguageModel(
        network=made,
        tokenizer=None,
        lm_head=make_lm_head(made),
        name="tiny",
        backend="int4",
        device=CPU,
        context_length=1024,
        eos_ids=frozenset(),
        compiled=llama_pass(made),
    )


def causal(lm, tokens, widths, cache=None):
    cache = KVCache.of(lm) if cache is None else cache
    parts = []
    for part in tokens.split(widths):
        n = len(part)
        mask = torch.ones(n, n, dtype=torch.bool).tril()
        parts.append(lm.forward(part, torch.arange(n), mask, cache))
        cache.commit(range(n))
    return torch.cat(parts)


def text(count):
    return torch.randint(0, VOCAB, (count,), generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"num_key_value_heads": 6},
        {"num_key_value_heads": 1},
        {"head_dim": 64, "num_attention_heads": 4},
        {"rope_parameters": LLAMA3},
        {"rms_norm_eps": 0.1},
    ],
    ids=str,
)
def test_it_computes_what_the_network_computes(changes):
    lm, tokens = model(**changes), text(70)
    ours = causal(lm, tokens, [70])
    exact = copy.deepcopy(lm.network).float()  # without the rounding of bf16
    exact.set_attn_implementation("sdpa")
    with torch.inference_mode():
        theirs = exact.model(input_ids=tokens[None]).last_hidden_state[0]
    assert torch.nn.functional.cosine_similarity(ours, theirs, dim=-1).min() > 0.997
    assert (ours - theirs).norm() / theirs.norm() < 0.04


def test_a_row_is_the_same_bits_in_a_pass_of_any_width():
    lm, tokens = model(), text(330)  # the cache grows on the way
    assert len(tokens) > GROW_BY
    whole = causal(lm, tokens, [256, 74])
    assert torch.equal(whole, causal(lm, tokens, [1] * 330))
    assert torch.equal(whole, causal(lm, tokens, [3, 8, 1, 17, 64, 128, 100, 9]))


@pytest.mark.parametrize("tree", [chain(4), cartesian([3, 2, 2]), cartesian([5])], ids=str)
def test_a_node_of_a_tree_is_the_end_of_its_path(tree):
    lm, prompt = model(), text(40)
    cache = KVCache.of(lm)
    causal(lm, prompt, [40], cache)
    tokens = torch.arange(tree.n) * 7 % VOCAB
    hidden = lm.forward(tokens, tree.depths, tree.mask, cache)
    for row in range(tree.n):
        path = tree.path_to(row)
        alone = causal(lm, torch.cat([prompt, tokens[path]]), [40, len(path)])
        assert torch.equal(hidden[row], alone[-1]), row


def test_after_a_commit_the_cache_is_that_of_the_text():
    lm, prompt, tree = model(), text(40), cartesian([3, 2, 2])
    cache, alone = KVCache.of(lm), KVCache.of(lm)
    causal(lm, prompt, [40], cache)
    tokens = torch.arange(tree.n) * 5 % VOCAB
    lm.forward(tokens, tree.depths, tree.mask, cache)
    path = tree.path_to(tree.n - 1)  # the last child of the last child
    cache.commit(path)
    causal(lm, torch.cat([prompt, tokens[path]]), [1] * (40 + len(path)), alone)
    for ours, theirs in zip(cache.layers, alone.layers, strict=True):
        for a, b in zip(ours.committed(), theirs.committed(), strict=True):
            assert torch.equal(a, b)
    behind = text(5)
    assert torch.equal(causal(lm, behind, [5], cache), causal(lm, behind, [1] * 5, alone))


def test_rewinding_forgets():
    lm, tokens = model(), text(30)
    cache = KVCache.of(lm)
    first = causal(lm, tokens, [30], cache)
    cache.rewind(10)
    assert cache.length == 10
    assert torch.equal(causal(lm, tokens[10:], [20], cache), first[10:])


def test_both_caches_work_side_by_side():
    lm, tokens = model(), text(24)
    through = causal(lm, tokens, [24], KVCache.of_network(lm)).float()
    ours = causal(lm, tokens, [24])
    assert torch.nn.functional.cosine_similarity(ours, through, dim=-1).min() > 0.99


@pytest.mark.parametrize(
    "changes",
    [
        {"bias": True},
        {"head_dim": 16},
        {"hidden_act": "gelu"},
        {"rope_parameters": {"rope_type": "dynamic", "factor": 2.0, "rope_theta": 10000.0}},
    ],
    ids=str,
)
def test_what_has_to_run_through_transformers(changes):
    assert llama_pass(network(**changes)) is None


def test_a_layer_that_is_not_packed_keeps_the_network():
    made = network()
    made.model.layers[1].mlp.up_proj = torch.nn.Linear(96, 160, bias=False)
    assert llama_pass(made) is None
