from __future__ import annotations

import sys
import time

import pytest

from explorer.models import chat_template
from explorer.models.chat import TokenTexts, encode_prompt, require_known
from explorer.models.loader import load_model
from explorer.records.errors import ExplorerError
from explorer.records.text import join_pieces
from explorer.weights.presets import model_options
from tests.weights.tiny_gguf import write_gguf

TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>{% endfor %}"
)


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    folder = tmp_path_factory.mktemp("chat")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MEDUSA_EXPLORER_CACHE", str(folder))
        model = load_model(model_options(model=str(write_gguf(folder / "t.gguf")), backend="bf16"))
    return model.tokenizer


@pytest.mark.parametrize("text", ["hello", "naïve 🙂🎉", "\u202eright to left", "\x00\x07", "中文"])
def test_pieces_join_to_the_text(tokenizer, text):
    pieces = TokenTexts(tokenizer)
    ids = tokenizer(text)["input_ids"]
    assert join_pieces({i: pieces[i] for i in ids}, ids) == text


def test_a_piece_of_an_emoji_is_its_bytes(tokenizer):
    pieces = TokenTexts(tokenizer)
    ids = tokenizer("🙂")["input_ids"]
    assert [pieces[i].bytes for i in ids] == ["f0", "9f", "99", "82"]
    assert all(pieces[i].text is None for i in ids)


def test_special_tokens_are_written_as_they_are(tokenizer):
    assert TokenTexts(tokenizer)[1].text == "<|im_start|>"


def test_the_template_is_used_where_there_is_one(tokenizer):
    tokenizer.chat_template = TEMPLATE
    chat = tokenizer.decode(encode_prompt(tokenizer, "hello", system="be brief"))
    raw = tokenizer.decode(encode_prompt(tokenizer, "hello", raw=True))
    tokenizer.chat_template = None
    assert chat == "<|im_start|>system\nbe brief<|im_end|><|im_start|>user\nhello<|im_end|>"
    assert raw == tokenizer.decode(encode_prompt(tokenizer, "hello")) == "hello"


@pytest.mark.parametrize(
    "inside", ["", "x", "{% set y = 1 %}", "{{ range(9)|map('string')|join }}"]
)
def test_a_template_without_end_is_ended(tokenizer, monkeypatch, inside):
    monkeypatch.setattr(chat_template, "MOST_SECONDS", 0.2)
    before, start = sys.gettrace(), time.monotonic()
    loop = "{% for a in range(99999) %}{% for b in range(99999) %}", "{% endfor %}{% endfor %}"
    tokenizer.chat_template = inside.join(loop)
    with pytest.raises(ExplorerError, match=r"not ended after 0\.2 seconds: use the raw"):
        encode_prompt(tokenizer, "hello")
    tokenizer.chat_template = None
    assert time.monotonic() - start < 60
    assert sys.gettrace() is before


def test_a_template_of_powers_is_not_begun(tokenizer):
    tokenizer.chat_template = "{{ 9**9**9**9 }}"
    with pytest.raises(ExplorerError, match="computes powers, which may never end: use the raw"):
        encode_prompt(tokenizer, "hello")
    tokenizer.chat_template = "**bold** " + TEMPLATE
    assert encode_prompt(tokenizer, "hello")
    tokenizer.chat_template = None


def test_what_the_template_refuses_and_empty_prompts(tokenizer):
    tokenizer.chat_template = "{{ raise_exception('no system prompts here') }}"
    with pytest.raises(ExplorerError, match="leave the system prompt empty"):
        encode_prompt(tokenizer, "hello", system="x")
    tokenizer.chat_template = None
    for prompt in ("", " \n\t "):
        with pytest.raises(ExplorerError, match="empty"):
            encode_prompt(tokenizer, prompt)


class Bare:
    """A tokenizer without a chat template."""

    chat_template = None

    def __call__(self, text, **options):
        return {"input_ids": [len(text)]}


@pytest.mark.parametrize("raw", [False, True])
def test_a_system_prompt_without_a_place_is_refused(raw):
    assert encode_prompt(Bare(), "Hi", raw=raw) == [2]
    with pytest.raises(ExplorerError, match="no place for a system prompt"):
        encode_prompt(Bare(), "Hi", system="Answer in French.", raw=raw)


def test_a_template_that_ignores_the_system_prompt_is_said():
    class Deaf(Bare):
        chat_template = "yes"

        def apply_chat_template(self, messages, **options):
            return messages[-1]["content"]

    with pytest.raises(ExplorerError, match="ignores the system prompt"):
        encode_prompt(Deaf(), "Hi", system="Answer in French.")


def test_ids_beyond_the_vocabulary_are_refused():
    require_known([3, 7], 8)
    with pytest.raises(ExplorerError, match=r"token 8 of this prompt.* only 8 tokens"):
        require_known([3, 8], 8)
