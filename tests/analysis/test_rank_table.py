"""The rank table: a faithful file, and the same ranks as a look at every position by hand."""

import gzip

import numpy as np
import pytest
import torch

from explorer.analysis.joint_counts import RankedText, rank_rows
from explorer.analysis.rank_table import (
    FILE_NAME,
    RankTable,
    load_rank_table,
    rank_table_of,
    save_rank_table,
)
from explorer.heads.fingerprint import heads_hash
from explorer.heads.heads import MedusaHeads
from explorer.heads.heads_config import HeadsConfig
from explorer.records.errors import ExplorerError
from explorer.records.events import TraceBuilder
from explorer.records.settings import decode_settings
from explorer.training.held_out_ranks import rank_rows_of_states
from tests.tiny_lab import VOCAB, tiny_lab, tiny_model

ROWS = [
    np.array([[0, 15], [-1, 3]], dtype=np.int16),
    np.empty((0, 2), dtype=np.int16),
    np.array([[1, -1]], dtype=np.int16),
]


def table(**changes):
    fields = {"heads": "h", "num_heads": 2, "width": 16, "source": "test"} | changes
    return RankTable.of([RankedText(rows, 7) for rows in ROWS], **fields)


def test_round_trip(tmp_path):
    save_rank_table(table(), tmp_path)
    loaded = load_rank_table(tmp_path)
    assert loaded == table()
    for ours, theirs in zip(loaded.ranked(), ROWS, strict=True):
        np.testing.assert_array_equal(ours.rows, theirs)
        assert ours.before == 7
    assert loaded.texts == ["ap.d", "", "b."]


def test_the_same_table_gives_the_same_bytes(tmp_path):
    first = save_rank_table(table(), tmp_path).read_bytes()
    assert save_rank_table(table(), tmp_path).read_bytes() == first


def test_no_table_is_none(tmp_path):
    assert load_rank_table(tmp_path) is None


@pytest.mark.parametrize(
    "content",
    [b"", b"no gzip", gzip.compress(b"{"), gzip.compress(b"{}"), gzip.compress(b"[" * 100_000)],
)
def test_a_damaged_table_is_one_clear_sentence(tmp_path, content):
    (tmp_path / FILE_NAME).write_bytes(content)
    with pytest.raises(ExplorerError, match="damaged"):
        load_rank_table(tmp_path)


@pytest.mark.parametrize("text", ["abc", "z.", "A."])
def test_malformed_texts_are_refused(text):
    with pytest.raises(ExplorerError, match="damaged"):
        table().model_copy(update={"texts": [text], "before": [0]}).ranked()


def rows_of(model, heads, prompt, reply):
    hidden = model.hidden_states(torch.tensor([*prompt, *reply]))
    return rank_rows_of_states(heads, hidden[len(prompt) - 1 : -1], torch.tensor(reply))


@pytest.mark.parametrize(("prompt_length", "reply_length"), [(3, 20), (1, 5), (4, 3), (2, 300)])
def test_ranks_of_a_text(prompt_length, reply_length):
    model = tiny_model()
    config = HeadsConfig(kind="own", num_heads=3, num_blocks=1, hidden_size=32, vocab_size=VOCAB)
    heads = MedusaHeads.create(config, model.lm_head_weight())
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        heads.projection += 0.1 * torch.randn(heads.projection.shape, generator=generator)
    tokens = torch.randint(0, VOCAB, (prompt_length + reply_length,), generator=generator).tolist()
    rows = rows_of(model, heads, tokens[:prompt_length], tokens[prompt_length:])

    expected = []
    with torch.inference_mode():
        hidden = model.hidden_states(torch.tensor(tokens))
        ids = heads.propose(hidden, 16)[0].tolist()
    for t in range(prompt_length - 1, len(tokens)):
        if t + 4 >= len(tokens):
            break
        ranks = [ids[t][k - 1] for k in (1, 2, 3)]
        targets = [tokens[t + 1 + k] for k in (1, 2, 3)]
        expected.append([r.index(x) if x in r else -1 for r, x in zip(ranks, targets, strict=True)])
    assert rows.shape == (len(expected), 3)
    assert rows.tolist() == expected
    assert reply_length < 300 or {-1, 0, 15} < set(rows.flatten().tolist())


@pytest.mark.parametrize("architecture", ["medusa", "hydra"])
def test_a_finished_text_gives_the_rows_that_decoding_it_records(architecture):
    lab = tiny_lab(architecture=architecture)
    heads = lab.heads[architecture].heads
    builder = TraceBuilder()
    for event in lab.decode("some prompt", decode_settings(method=architecture, max_new_tokens=40)):
        builder.add(event)
    trace = builder.trace()
    found = rows_of(lab.model, heads, trace.header.prompt_ids, trace.new_token_ids)
    table = rank_table_of(heads, [RankedText(found, 3)], "a test")
    assert table.heads == heads_hash(heads)
    assert (table.num_heads, table.source) == (3, "a test")
    ((rows, _),) = [(text.rows, text.before) for text in table.ranked()]
    assert len(rows) == 37  # positions −1 … 35 of the reply; head 3 looks four further
    np.testing.assert_array_equal(rows, rank_rows(trace)[: len(rows)])
