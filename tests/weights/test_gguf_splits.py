"""A GGUF's tokenizer splits text as the file says, or the file is refused.

The expected tokens are llama.cpp's of the same files.
"""

import gguf
import pytest
from transformers import AutoTokenizer

from explorer.models.chat import BYTE_OF_CHARACTER
from explorer.records.errors import ExplorerError
from explorer.weights.gguf_cache import described
from explorer.weights.gguf_file import GGUFFile
from tests.weights.tiny_gguf import SPECIAL, write_gguf

BYTES = sorted(BYTE_OF_CHARACTER, key=BYTE_OF_CHARACTER.get)
LEARNED = ["1 2", "12 3", "123 4", "! !", "h e", "he l", "hel l", "hell o", "Ġ h", "' l", "'l l"]
VOCAB = [*SPECIAL, *BYTES, *(merge.replace(" ", "") for merge in LEARNED), "Ġhello"]
VOCAB += [f"<|pad{i}|>" for i in range(-len(VOCAB) % 32)]
TEXT = "hello 12345!! he'll"


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("MEDUSA_EXPLORER_CACHE", str(tmp_path / "cache"))


def tokens(tmp_path, text, extra, vocab=VOCAB):
    path = write_gguf(tmp_path / "a.gguf", vocab=vocab, extra=extra)
    tokenizer = AutoTokenizer.from_pretrained(described(GGUFFile(path)))
    return tokenizer.convert_ids_to_tokens(tokenizer(text)["input_ids"])


def byte_level(pre, **settings):
    def extra(writer):
        writer.add_tokenizer_pre(pre)
        writer.kv_data[0]["tokenizer.ggml.merges"].value = LEARNED
        for name, value in settings.items():
            writer.add_bool(f"tokenizer.ggml.{name}", value)

    return extra


@pytest.mark.parametrize(
    ("pre", "digits"),
    [
        ("gpt-2", ["1234", "5"]),
        ("smollm", ["1", "2", "3", "4", "5"]),
        ("command-r", ["1", "2", "3", "4", "5"]),
        ("stablelm2", ["1", "2", "3", "4", "5"]),
        ("qwen2", ["1", "2", "3", "4", "5"]),
        ("falcon", ["123", "4", "5"]),
        ("chatglm-bpe", ["123", "4", "5"]),
        ("deepseek-v3", ["123", "4", "5"]),
        ("deepseek-coder", ["1", "2", "3", "4", "5"]),
        ("viking", ["1", "2", "3", "4", "5"]),
    ],
)
def test_digits_are_split_as_the_models_tokenizer_does(tmp_path, pre, digits):
    found = tokens(tmp_path, TEXT, byte_level(pre))
    start = found.index("Ġ") + 1
    assert found[0] == "hello"
    assert found[start : start + len(digits)] == digits
    assert found[start + len(digits)] == "!!"


@pytest.mark.parametrize("pre", ["llama-bpe", "tekken"])
def test_llama_3_and_tekken_begin_a_text_and_keep_whole_words(tmp_path, pre):
    assert tokens(tmp_path, "hello hello", byte_level(pre)) == ["<|im_start|>", "hello", "Ġhello"]


def test_the_files_own_word_on_the_beginning_of_a_text_holds(tmp_path):
    found = tokens(tmp_path, "hello", byte_level("llama-bpe", add_bos_token=False))
    assert found == ["hello"]


def test_a_split_that_is_not_known_is_refused_by_name(tmp_path):
    with pytest.raises(ExplorerError, match=r"sets 'tokenizer\.ggml\.pre' to unheard-of"):
        tokens(tmp_path, TEXT, byte_level("unheard-of"))


PIECES = ["▁", "▁▁", "h", "e", "l", "o", "he", "hel", "hell", "hello", "▁hello"]
SENTENCE = ["<unk>", "<s>", "</s>", *(f"<0x{i:02X}>" for i in range(256)), *PIECES]
SENTENCE += [f"<|pad{i}|>" for i in range(-len(SENTENCE) % 32)]


def sentencepiece(**settings):
    kinds = gguf.TokenType
    types = [kinds.UNKNOWN, kinds.CONTROL, kinds.CONTROL, *[kinds.BYTE] * 256]
    types += [kinds.CONTROL if p.startswith("<|") else kinds.NORMAL for p in SENTENCE[259:]]

    def extra(writer):
        values = writer.kv_data[0]
        del values["tokenizer.ggml.merges"]
        values["tokenizer.ggml.model"].value = "llama"
        values["tokenizer.ggml.token_type"].value = types
        writer.add_token_scores([-float(max(0, i - 258)) for i in range(len(SENTENCE))])
        for name, value in settings.items():
            writer.add_bool(f"tokenizer.ggml.{name}", value)

    return extra


@pytest.mark.parametrize(
    ("settings", "text", "expected"),
    [
        ({}, "hello hello", ["<s>", "▁hello", "▁hello"]),
        ({}, "  hello", ["<s>", "▁▁", "▁hello"]),  # the dummy space comes before others, too
        ({"add_space_prefix": False}, "hello hello", ["<s>", "hello", "▁hello"]),
        ({"add_bos_token": False}, "hello", ["▁hello"]),
        ({"add_eos_token": True}, "hello", ["<s>", "▁hello", "</s>"]),
    ],
)
def test_sentencepiece_puts_a_space_and_marks_where_the_file_says(
    tmp_path, settings, text, expected
):
    assert tokens(tmp_path, text, sentencepiece(**settings), SENTENCE) == expected
