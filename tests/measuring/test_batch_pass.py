"""A pass over a batch computes for every sequence what a pass over it alone computes."""

import pytest
import torch

from explorer.kernels.attention import FIXED_ORDER
from explorer.measuring.batch_pass import BatchPasses, batch_attention
from explorer.measuring.cost_curve import filled_cache, tree_rows
from tests import tiny_lab as exact
from tests.decoding import tiny


def both(model, batch=3, n=5, context=70):
    """Hidden states of a batch, and of its sequences one by one."""
    offsets, mask = tree_rows(n)
    tokens = torch.arange(batch * n).view(batch, n) * 11 % model.vocab_size
    passes = BatchPasses(model, batch, context, widest=8)
    with batch_attention(model):
        together = passes.hidden(tokens, offsets, mask)
    alone = [model.forward(row, offsets, mask, filled_cache(model, context)) for row in tokens]
    return together, torch.stack(alone)


def test_a_batch_has_the_bits_of_its_sequences():
    together, alone = both(exact.tiny_model())
    assert torch.equal(together, alone)


@pytest.mark.parametrize("architecture", ["llama", "mistral", "gemma2", "gemma3"])
def test_every_attention_takes_batches(architecture):
    together, alone = both(tiny.tiny_model(architecture))
    torch.testing.assert_close(together, alone, rtol=1e-3, atol=1e-3)


def test_the_library_s_attention_takes_batches():
    model = tiny.tiny_model()
    model.network.set_attn_implementation("sdpa")
    together, alone = both(model)
    torch.testing.assert_close(together, alone, rtol=1e-3, atol=1e-3)


def test_passes_leave_no_trace():
    model = exact.tiny_model()
    offsets, mask = tree_rows(4)
    tokens = torch.arange(8).view(2, 4)
    passes = BatchPasses(model, 2, 10, widest=8)
    with batch_attention(model):
        first = passes.hidden(tokens, offsets, mask)
    assert passes.milliseconds(8) > 0
    with batch_attention(model):
        assert torch.equal(passes.hidden(tokens, offsets, mask), first)
    assert model.config._attn_implementation == FIXED_ORDER
