"""A sample of the sweep: what each kind of architecture comes to, and that the table says it."""

import pytest
import torch

from tools import sweep_architectures as tool

SAMPLE = {
    "llama": ("right", "fixed order"),
    "mistral": ("right", "fixed order"),
    "qwen2_moe": ("right", "fixed order"),
    "qwen3": ("right", "fixed order"),
    "gemma2": ("right", "eager"),  # caps its scores
    "gemma3_text": ("right", "fixed order"),  # two kinds of layers
    "gemma4_text": ("right", "fixed order"),  # heads of two sizes
    "llama4_text": ("right", "fixed order"),  # chunks
    "gpt_oss": ("right", "eager"),  # sinks
    "phi3": ("right", "fixed order"),
    "cohere": ("right", "fixed order"),  # scales its logits
    "hyperclovax": ("right", "fixed order"),
    "minicpm3": ("right", "sdpa"),  # scales its hidden states; latent attention
    "deepseek_v3": ("right", "sdpa"),
    "modernbert-decoder": ("right", "fixed order"),  # a layer before its LM head
    "bert": ("right", "fixed order"),
    "mpt": ("refused", "tree-attention mask"),  # positions by slots
    "bloom": ("refused", "tree-attention mask"),
    "gpt_neo": ("refused", "tree-attention mask"),
    "roberta": ("right", "fixed order"),  # positions counted from behind its padding
    "bart": ("right", "sdpa"),  # positions counted by the slots of its cache
    "openai-gpt": ("refused", "cannot run on a KV cache"),  # keeps no keys
    "emu3": ("right", "fixed order"),  # the text part of a model of images, with its own class
    "musicgen": ("not built", "audio codes"),
    "qwen3_next": ("refused", "linear_attention"),
    "recurrent_gemma": ("refused", "recurrent"),
}


@pytest.fixture(scope="module", autouse=True)
def _one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)  # the networks are tiny
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("model_type", SAMPLE)
def test_a_type_comes_to_what_the_table_says(model_type):
    verdict, word = SAMPLE[model_type]
    found = tool.try_type(model_type)
    assert found.verdict == verdict, found.detail
    assert word in found.detail


def test_a_difference_that_the_start_up_check_let_through_is_called_wrong(monkeypatch):
    monkeypatch.setattr(tool, "check_model", lambda model: None)
    assert tool.try_type("mpt").verdict == "WRONG"


def test_a_bare_error_is_called_an_error(monkeypatch):
    def broken(model):
        raise KeyError("layers")

    monkeypatch.setattr(tool, "check_model", broken)
    assert tool.try_type("llama").verdict == "ERROR"


def test_the_table_counts_and_replaces_what_stood_behind_the_marker(tmp_path):
    page = tmp_path / "models.md"
    page.write_text(f"# Models\n\n{tool.MARKER}\n\nold\n", encoding="utf-8")
    findings = [
        tool.Finding("llama", "right", "fixed order", 0.1),
        tool.Finding("mpt", "refused", "a | b", 0.1),
    ]
    tool.write(page, findings)
    text = page.read_text(encoding="utf-8")
    assert text.startswith("# Models\n")
    assert "old" not in text
    assert "1 right, 1 refused" in text
    assert r"a \| b" in text


def test_types_that_were_not_tried_keep_their_rows(tmp_path):
    page = tmp_path / "models.md"
    page.write_text(tool.MARKER, encoding="utf-8")
    refused = tool.Finding("mpt", "refused", "a | b", 0.1)
    tool.write(page, [refused, tool.Finding("xglm", "not built", "no", 0.1)])
    before = page.read_text(encoding="utf-8")
    tool.write(page, [tool.Finding("xglm", "right", "sdpa", 0.1)])
    after = page.read_text(encoding="utf-8")
    assert "1 right, 1 refused, 0 that" in after
    assert after.count("| xglm |") == after.count("| mpt |") == 1
    assert before.splitlines()[-2] == after.splitlines()[-2]  # mpt's
