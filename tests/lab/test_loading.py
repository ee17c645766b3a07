"""A draft model of the user's own: a whole model, or what 'train draft' writes."""

from __future__ import annotations

import pytest

import explorer
from explorer.decoding.loop import StepResult
from explorer.models.draft import first_layers, save_draft
from explorer.models.draft_files import DraftConfig
from explorer.records.errors import ExplorerError
from explorer.records.settings import decode_settings
from tests.weights.tiny_gguf import VOCAB, write_gguf


def load(path, draft, **options):
    return explorer.load(
        model=str(path), heads="none", backend="int4", device="cpu", draft=str(draft), **options
    )


def emitted(lab) -> list[int]:
    settings = decode_settings(
        method="draft-model", draft_tokens=2, max_new_tokens=9, raw_prompt=True
    )
    steps = lab.steps(lab.encode("hello hello", settings), settings)
    return [len(step.emitted) for step in steps if isinstance(step, StepResult)]


def test_a_whole_model_drafts_and_itself_is_always_right(tmp_path):
    lab = load(write_gguf(tmp_path / "a.gguf"), tmp_path / "a.gguf")
    assert lab.draft_model() is lab.draft
    assert emitted(lab) == [3, 3, 3]


def test_a_draft_checkpoint_drafts(tmp_path):
    base = explorer.load(
        model=str(write_gguf(tmp_path / "a.gguf")), heads="none", backend="int4", device="cpu"
    ).model
    config = DraftConfig(
        num_layers=1, hidden_size=base.hidden_size, vocab_size=len(VOCAB), storage="bf16"
    )
    save_draft(first_layers(base.network, 1), config, None, tmp_path / "draft")
    lab = load(tmp_path / "a.gguf", tmp_path / "draft")
    assert lab.draft.config.num_hidden_layers == 1
    assert sum(emitted(lab)) == 9


def test_a_missing_draft_is_reported_at_once(tmp_path):
    with pytest.raises(ExplorerError, match="nowhere"):
        load(write_gguf(tmp_path / "a.gguf"), tmp_path / "nowhere.gguf")
