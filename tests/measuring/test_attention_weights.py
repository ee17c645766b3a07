"""Attention weights computed from a step's tokens: what the layers themselves would give."""

from __future__ import annotations

import pytest
import torch
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from explorer.analysis.tree_names import make_tree
from explorer.decoding.cache import KVCache
from explorer.measuring.attention_weights import attention_weights
from explorer.records.errors import ExplorerError
from tests.decoding.tiny import ARCHITECTURES, VOCAB, tiny_model

PREFIX = [5, 17, 3, 60, 41, 22, 9, 33, 71, 2, 15]  # longer than a sliding window
TREE = make_tree([(0,), (1,), (0, 0), (0, 1), (1, 0), (0, 0, 0)])
PARENTS, TOKENS = TREE.parents.tolist(), [7, 8, 9, 10, 11, 12, 13]
LAST_LAYER = 2


@pytest.fixture(params=ARCHITECTURES)
def model(request):
    return tiny_model(request.param)


def library_weights(model, tokens: list[int], layer: int) -> torch.Tensor:
    """[heads, T, T] as transformers itself gives them out of a plain causal pass."""
    ours = model.config._attn_implementation
    model.network.set_attn_implementation("eager")
    with torch.inference_mode():
        out = model.network(torch.tensor([tokens]), output_attentions=True)
    model.network.set_attn_implementation(ours)
    return out.attentions[layer][0]


def test_a_chain_has_the_weights_of_a_plain_pass(model):
    tokens, parents = TOKENS[:4], [-1, 0, 1, 2]
    for layer in range(LAST_LAYER + 1):
        ours = attention_weights(model, PREFIX, tokens, parents, layer)
        theirs = library_weights(model, PREFIX + tokens, layer)[:, len(PREFIX) :]
        assert ours.shape == theirs.shape == (4, 4, len(PREFIX) + 4)
        torch.testing.assert_close(ours, theirs, atol=1e-4, rtol=1e-3)


def test_rows_sum_to_one_and_what_is_not_seen_has_no_weight(model):
    weights = attention_weights(model, PREFIX, TOKENS, PARENTS, LAST_LAYER)
    torch.testing.assert_close(weights.sum(-1), torch.ones(4, len(TOKENS)))
    among_rows = weights[:, :, len(PREFIX) :]
    assert (among_rows[:, ~TREE.mask] == 0).all()
    assert (among_rows[:, TREE.mask] > 0).all()


def test_a_nodes_row_is_that_of_a_plain_pass_over_its_path(model):
    weights = attention_weights(model, PREFIX, TOKENS, PARENTS, LAST_LAYER)
    for row in range(TREE.n):
        path = TREE.path_to(row)
        plain = library_weights(model, PREFIX + [TOKENS[i] for i in path], LAST_LAYER)[:, -1]
        ours = torch.cat(
            [weights[:, row, : len(PREFIX)], weights[:, row, len(PREFIX) :][:, path]], 1
        )
        torch.testing.assert_close(ours, plain, atol=1e-4, rtol=1e-3)


def test_a_prefix_of_several_passes():
    model = tiny_model()
    model.context_length = 600
    prefix = [i * 31 % VOCAB for i in range(530)]
    weights = attention_weights(model, prefix, TOKENS[:1], [-1], 1)
    theirs = library_weights(model, prefix + TOKENS[:1], 1)[:, -1:]
    torch.testing.assert_close(weights, theirs, atol=1e-4, rtol=1e-3)


def test_the_model_decodes_as_before():
    model = tiny_model()
    functions = dict(ALL_ATTENTION_FUNCTIONS)

    def hidden():
        rows, visible = torch.tensor(PREFIX), torch.ones(11, 11).bool().tril()
        return model.forward(rows, torch.arange(11), visible, KVCache.of(model))

    before = hidden()
    attention_weights(model, PREFIX, TOKENS, PARENTS, 0)
    assert dict(ALL_ATTENTION_FUNCTIONS) == functions
    assert torch.equal(hidden(), before)


def test_only_the_layers_up_to_the_one_in_question_are_computed():
    model = tiny_model()
    ran = []
    for i, layer in enumerate(model.network.model.layers):
        layer.mlp.register_forward_hook(lambda *_, i=i: ran.append(i))
    attention_weights(model, PREFIX, TOKENS, PARENTS, 1)
    assert set(ran) == {0}


@pytest.mark.parametrize(
    ("prefix", "tokens", "layer", "sentence"),
    [
        (PREFIX, [VOCAB], 0, "outside the model's vocabulary"),
        ([VOCAB + 5], [1], 0, "outside the model's vocabulary"),
        (PREFIX, [1], 3, "layers 0 to 2"),
        ([1] * 256, [1], 0, "1 to 255 tokens"),
        ([], [1], 0, "1 to 255 tokens"),
    ],
)
def test_what_the_model_does_not_have_is_one_sentence(prefix, tokens, layer, sentence):
    with pytest.raises(ExplorerError, match=sentence):
        attention_weights(tiny_model(), prefix, tokens, [-1], layer)
