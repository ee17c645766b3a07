import pytest

from explorer.records.errors import ExplorerError
from explorer.training.data import (
    Conversation,
    distinct_share,
    drop_loops,
    pick_draft_vocabulary,
    read_conversations,
    split_holdout,
)
from tests.training.tiny import counting_text, write_lines


@pytest.mark.parametrize("name", ["text.jsonl", "text.jsonl.gz"])
def test_reads_plain_and_gzip(tmp_path, name):
    path = write_lines(tmp_path / name, [{"prompt": [1, 2], "response": [3]}] * 2)
    assert read_conversations(path, 10) == [Conversation((1, 2), (3,))] * 2


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "holds no conversation"),
        (b"\n\n", "holds no conversation"),
        (b'{"prompt": [1], "response": [99]}', "another tokenizer"),
        (b'{"prompt": [1], "response": [-1]}', "Line 1"),
        (b'{"prompt": [1], "response": [true]}', "Line 1"),
        (b'{"prompt": [1], "response": []}', "Line 1"),
        (b'{"prompt": "hello", "response": "you"}', "Line 1"),
        (b'{"prompt": [1], "response": [2]}\nnot json', "Line 2"),
        (b"[" * 100_000, "Line 1"),
        (b"\xff\xfe\x00broken", "cannot be read"),
        (b"\x1f\x8b\x08broken", "cannot be read"),
    ],
)
def test_bad_files_give_one_clear_sentence(tmp_path, content, message):
    path = tmp_path / "text.jsonl"
    path.write_bytes(content)
    with pytest.raises(ExplorerError, match=message):
        read_conversations(path, 64)


def test_missing_file_and_folder(tmp_path):
    with pytest.raises(ExplorerError, match="no training data"):
        read_conversations(tmp_path / "nothing.jsonl", 64)
    with pytest.raises(ExplorerError, match="cannot be read"):
        read_conversations(tmp_path, 64)


def test_loops_are_dropped():
    assert distinct_share([1, 2, 3]) == 1.0
    assert distinct_share([7] * 13) == 0.1
    looping = Conversation((1,), (1, 2) * 20)
    varied = Conversation((1,), tuple(range(20)))
    assert drop_loops([looping, varied]) == [varied]


def test_split_is_seeded_and_never_shares_a_prompt():
    conversations = [Conversation((i // 3,), (1, 2)) for i in range(900)]
    train, held = split_holdout(conversations, 0.1, seed=1)
    assert sorted(train + held) == list(range(900))
    assert 45 <= len(held) <= 150
    assert not {conversations[i].prompt for i in train} & {conversations[i].prompt for i in held}
    assert split_holdout(conversations, 0.1, seed=1) == (train, held)
    assert split_holdout(conversations, 0.1, seed=2) != (train, held)


def test_more_text_never_moves_a_prompt_to_the_other_side():
    first = [Conversation((i,), (1, 2)) for i in range(300)]
    more = [Conversation((i,), (3, 4)) for i in range(250, 900)]
    _, held = split_holdout(first, 0.1, seed=1)
    both = first + more
    _, held_of_both = split_holdout(both, 0.1, seed=1)
    sides = {both[i].prompt for i in held_of_both}
    assert held
    assert {c.prompt for c in first} & sides == {first[i].prompt for i in held}


def test_split_holds_out_at_least_one_prompt():
    train, held = split_holdout([Conversation((i,), (1, 2)) for i in range(4)], 0.001, seed=0)
    assert len(train) == 3
    assert len(held) == 1


def test_split_needs_something_to_train_on():
    with pytest.raises(ExplorerError, match="No conversation is left"):
        split_holdout([Conversation((1,), (2, 3))] * 5, 0.05, seed=0)


def test_draft_vocabulary_is_the_most_frequent_tokens():
    text = [Conversation((9,), (5, 5, 5, 7, 7, 3))]
    token_map, coverage = pick_draft_vocabulary(text, 2, 10)
    assert token_map.tolist() == [5, 7]
    assert coverage == pytest.approx(5 / 6)
    token_map, coverage = pick_draft_vocabulary(text, 5, 10)
    assert token_map.tolist() == [0, 1, 3, 5, 7]
    assert coverage == 1.0
    assert len(pick_draft_vocabulary(text, 99, 10)[0]) == 10


def test_truncation_cuts_the_reply():
    assert Conversation((1, 2), (3, 4, 5)).truncated(4) == Conversation((1, 2), (3, 4))
    assert Conversation((1, 2), (3,)).truncated(1).response == ()


def test_synthetic_text_is_usable(tmp_path):
    path = write_lines(tmp_path / "text.jsonl.gz", counting_text())
    assert len(drop_loops(read_conversations(path, 64))) == 60
