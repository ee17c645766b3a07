import json

import pytest
import torch

from explorer.decoding.cache import KVCache
from explorer.decoding.loop import prefill
from explorer.kernels.int4 import Int4Linear
from explorer.kernels.linears import (
    codes_of_blocks,
    dense_linear,
    dense_weight,
    dequantised,
    four_bit_blocks,
)
from explorer.kernels.packed import PACKED
from explorer.models.draft import draft_model, first_layers, load_draft, save_draft
from explorer.models.draft_files import DraftConfig
from explorer.models.loader import load_model
from explorer.records.errors import ExplorerError
from explorer.weights.folders import CONFIG, WEIGHTS
from explorer.weights.presets import model_options
from tests.decoding.tiny import ARCHITECTURES, VOCAB, tiny_model
from tests.weights.tiny_gguf import write_gguf

TOKENS = torch.arange(9)


def config_of(base, storage="bf16", draft_vocab_size=None, layers=2) -> DraftConfig:
    return DraftConfig(
        num_layers=layers,
        hidden_size=base.hidden_size,
        vocab_size=base.vocab_size,
        draft_vocab_size=draft_vocab_size,
        storage=storage,
        base_model=base.name,
    )


def saved(base, folder, storage="bf16", token_map=None, layers=2):
    size = None if token_map is None else len(token_map)
    config = config_of(base, storage, size, layers)
    return save_draft(first_layers(base.network, layers), config, token_map, folder)


@pytest.fixture(scope="module")
def gguf_base(tmp_path_factory):
    folder = tmp_path_factory.mktemp("gguf")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MEDUSA_EXPLORER_CACHE", str(folder / "cache"))
        path = write_gguf(folder / "tiny.gguf")
        yield load_model(model_options(model=str(path), heads="none"))


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_an_untrained_draft_is_the_base_models_first_layers(tmp_path, architecture):
    base = tiny_model(architecture)
    draft = load_draft(saved(base, tmp_path), base)
    with base.library_attention(), torch.inference_mode():
        layers = base.network.base_model(input_ids=TOKENS[None], output_hidden_states=True)
        body = base.network.base_model
        norm = body.norm if hasattr(body, "norm") else body.final_layernorm
        expected = norm(layers.hidden_states[2])[0]
    states = draft.hidden_states(TOKENS)
    assert (states - expected).abs().max() < 0.02 * expected.abs().max()  # stored in bf16
    assert draft.config.num_hidden_layers == 2


def test_embedding_and_lm_head_are_the_base_models_own(tmp_path):
    base = tiny_model()
    draft = load_draft(saved(base, tmp_path), base)
    assert draft.network.get_input_embeddings() is base.network.get_input_embeddings()
    assert draft.lm_head.weight.data_ptr() == base.lm_head.weight.data_ptr()
    stored = (tmp_path / WEIGHTS).stat().st_size
    assert (
        stored < 2 * sum(p.numel() for p in base.network.base_model.layers[:2].parameters()) + 4096
    )
    assert base.config.num_hidden_layers == 3  # the base keeps its own configuration


@pytest.mark.parametrize("storage", ["int4", "bf16"])
def test_a_draft_runs_in_the_decoding_loop(gguf_base, tmp_path, storage):
    draft = load_draft(saved(gguf_base, tmp_path, storage, layers=1), gguf_base)
    packed = [m for m in draft.network.modules() if isinstance(m, PACKED)]
    assert len(packed) == (7 if storage == "int4" else 0)
    cache = KVCache.of(draft)
    hidden = prefill(draft, TOKENS.tolist(), cache)
    assert cache.length == len(TOKENS)
    whole = draft.hidden_states(TOKENS)[-1:]
    assert (hidden - whole).abs().max() < 0.05 * whole.abs().max()
    assert draft.logits(hidden).shape == (1, gguf_base.vocab_size)


def test_codes_of_the_base_survive_untrained(gguf_base, tmp_path):
    """Q4_1 matrices of the base lie on their own grid, so storing them again changes little."""
    draft = load_draft(saved(gguf_base, tmp_path, "int4", layers=1), gguf_base)
    name = "layers.0.mlp.up_proj"
    ours = dense_weight(draft.network.base_model.get_submodule(name))
    theirs = dense_weight(gguf_base.network.base_model.get_submodule(name))
    assert (ours - theirs).abs().max() < 0.02 * theirs.abs().max()


def test_tokens_outside_the_draft_vocabulary_are_impossible(tmp_path):
    base = tiny_model()
    token_map = torch.tensor([3, 5, 8, 90])
    draft = load_draft(saved(base, tmp_path, token_map=token_map), base)
    logits = draft.logits(draft.hidden_states(TOKENS))
    assert logits.shape == (len(TOKENS), VOCAB) == (len(TOKENS), draft.vocab_size)
    assert torch.isfinite(logits).sum(-1).tolist() == [4] * len(TOKENS)
    whole = load_draft(saved(base, tmp_path / "whole"), base)
    expected = whole.logits(whole.hidden_states(TOKENS))[:, token_map]
    torch.testing.assert_close(logits[:, token_map], expected, rtol=1e-3, atol=1e-3)
    assert logits.softmax(-1).isfinite().all()


def test_a_checkpoint_round_trips(tmp_path):
    base = tiny_model()
    network = first_layers(base.network, 2)
    with torch.no_grad():
        for parameter in network.base_model.layers.parameters():
            parameter.mul_(1.25)
    config = config_of(base)
    save_draft(network, config, None, tmp_path)
    direct, stored = draft_model(network, base, config, None), load_draft(tmp_path, base)
    a, b = direct.hidden_states(TOKENS), stored.hidden_states(TOKENS)
    assert (a - b).abs().max() < 0.02 * a.abs().max()
    assert stored.draft_config == config


def test_four_bit_blocks_are_the_int4_backends_codes():
    weight = torch.randn(32, 64)
    blocks = four_bit_blocks(weight)
    held = dequantised(blocks)
    steps = (weight.view(32, 2, 32).amax(-1) - weight.view(32, 2, 32).amin(-1)) / 15
    assert ((held - weight).abs().view(32, 2, 32) <= 0.51 * steps[..., None] + 2e-3).all()
    layer = Int4Linear(codes_of_blocks(blocks), torch.ones(32), torch.device("cpu"))
    assert (dense_weight(layer) - held).abs().max() < 0.03
    plain = dense_linear(held, torch.ones(32))
    assert torch.equal(dense_weight(plain), held)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda folder: (folder / CONFIG).unlink(), "no draft model"),
        (lambda folder: (folder / CONFIG).write_text("{"), "cannot be read"),
        (lambda folder: (folder / WEIGHTS).unlink(), "cannot be read"),
        (lambda folder: (folder / WEIGHTS).write_bytes(b"x" * 99), "cannot be read"),
        (lambda folder: change(folder, hidden_size=64), "was trained for this base model"),
        (lambda folder: change(folder, vocab_size=64), "was trained for this base model"),
        (lambda folder: change(folder, num_layers=3), "incomplete"),
        (lambda folder: change(folder, num_layers=9), "ask for fewer"),
        (lambda folder: change(folder, draft_vocab_size=7), "token_map"),
    ],
)
def test_what_is_no_draft_of_this_base_is_refused_in_a_sentence(tmp_path, spoil, message):
    base = tiny_model()
    folder = saved(base, tmp_path, "int4", token_map=torch.arange(5))
    spoil(folder)
    with pytest.raises(ExplorerError, match=message):
        load_draft(folder, base)


def change(folder, **values) -> None:
    raw = json.loads((folder / CONFIG).read_text())
    (folder / CONFIG).write_text(json.dumps(raw | values))


def test_weights_that_are_no_numbers_are_refused(tmp_path):
    base = tiny_model()
    network = first_layers(base.network, 2)
    with torch.no_grad():
        network.base_model.norm.weight[0] = torch.nan
    save_draft(network, config_of(base), None, tmp_path)
    with pytest.raises(ExplorerError, match="norm"):
        load_draft(tmp_path, base)
