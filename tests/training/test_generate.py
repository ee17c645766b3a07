"""Self-distilled text: batched, resumable, without loops."""

from __future__ import annotations

import gzip
import json

import pytest
import torch

from explorer.decoding.acceptance import Greedy
from explorer.decoding.loop import StepResult, decode
from explorer.decoding.plain import PlainDrafter
from explorer.records.errors import ExplorerError
from explorer.training.data import distinct_share, read_conversations
from explorer.training.generate import DataOptions, generate_data
from explorer.training.slots import TextInProgress, decode_together
from tests.decoding.tiny import tiny_model
from tests.tiny_lab import TinyTokenizer


class ChattyTokenizer(TinyTokenizer):
    """Users begin with `<` and end with `>`."""

    chat_template = "yes"

    def apply_chat_template(self, messages, tokenize=False, add_generation_prompt=False):
        return f"<{messages[0]['content']}>"

    def __call__(self, text, add_special_tokens=True):
        return super().__call__(text)

    def decode(self, ids, skip_special_tokens=False):
        return "".join(chr(97 + token % 26) for token in ids)


@pytest.fixture
def model():
    model = tiny_model("llama")
    model.tokenizer = ChattyTokenizer()
    model.eos_ids = frozenset({3, 11, 40})
    return model


ASKED = [f"ask {'x' * (i % 7)} {i}" for i in range(30)]


def options(tmp_path, **changes) -> DataOptions:
    fields = {"out": tmp_path / "text.jsonl.gz", "prompts": "prompts.jsonl", "max_new_tokens": 24}
    return DataOptions(**{**fields, "batch_size": 7, "least_distinct": 0.0, **changes})


def generate(model, settings, progress=lambda _: None):
    return generate_data(model, settings, ASKED if settings.prompts else [], progress)


def records(path) -> tuple[dict, list[dict]]:
    header, *lines = map(json.loads, gzip.decompress(path.read_bytes()).splitlines())
    return header["made_by"], lines


def test_texts_side_by_side_are_what_each_would_be_alone(model):
    prompts = [[5 + i] * (1 + i % 5) + [i] for i in range(20)]
    waiting = [TextInProgress(ids, 6 + i % 9) for i, ids in enumerate(prompts)]
    together = {
        tuple(text.ids): text.new
        for text in decode_together(model, lambda: waiting.pop(0) if waiting else None, 4)
    }
    assert len(together) == 20
    for i, ids in enumerate(prompts):
        items = list(decode(model, PlainDrafter(), Greedy(), ids, 6 + i % 9))
        alone = [t for item in items if isinstance(item, StepResult) for t in item.emitted]
        assert together[tuple(ids)] == alone


class Watched(TextInProgress):
    """Keeps the logits that each of its tokens was chosen from."""

    def __init__(self, ids, limit):
        super().__init__(ids, limit)
        self.rows = []

    def choose(self, logits, likeliest):
        self.rows.append(logits.clone())
        return likeliest


@pytest.mark.parametrize("architecture", ["llama", "mistral", "gemma2", "gemma3"])
def test_windows_hold_for_texts_side_by_side(architecture):
    model = tiny_model(architecture)
    waiting = [Watched(list(range(5, 5 + n)), 24) for n in (4, 20)]  # shorter, longer than a window
    for text in decode_together(model, lambda: waiting.pop() if waiting else None, 2):
        with torch.inference_mode(), model.library_attention():
            right = model.network(input_ids=torch.tensor([text.ids + text.new])).logits[0]
        ours = torch.stack(text.rows)
        torch.testing.assert_close(ours, right[len(text.ids) - 1 : -1], atol=1e-3, rtol=1e-3)


def test_replies_to_a_file_of_prompts(model, tmp_path):
    result = generate(model, options(tmp_path))
    made_by, lines = records(result.out)
    assert made_by["model"] == model.name
    assert made_by["seed"] == 0
    assert result.conversations == len(lines)
    assert result.dropped == 30 - len(lines)
    assert [line["id"] for line in lines] == sorted(line["id"] for line in lines)
    assert len({tuple(line["prompt"]) for line in lines}) == len(lines)
    texts = read_conversations(result.out, model.vocab_size)
    assert [list(c.response) for c in texts] == [line["response"] for line in lines]
    assert result.reply_tokens == sum(len(c.response) for c in texts)


def test_the_model_may_invent_the_prompts(model, tmp_path):
    heard = []
    result = generate(model, options(tmp_path, prompts=None, invented=25), heard.append)
    _, lines = records(result.out)
    assert 5 < len(lines) <= 25
    assert len({tuple(line["prompt"]) for line in lines}) == len(lines)
    assert heard[-1]["done"] == heard[-1]["total"] == 25


def test_invented_prompts_begin_with_the_openings_in_turn(model, tmp_path):
    settings = options(tmp_path, prompts=None, invented=8, invented_tokens=5, openings="o.jsonl")
    openings = ["Summarize:", "who"]
    made_by, lines = records(generate_data(model, settings, [], openings=openings).out)
    assert made_by["openings"] == "o.jsonl"
    assert lines
    encode = model.tokenizer
    for line in lines:
        opening = encode("<" + openings[line["id"] % 2])["input_ids"]
        assert line["prompt"][: len(opening)] == opening
        assert len(opening) < len(line["prompt"]) <= len(opening) + 5 + 1  # and the end, ">"


def test_openings_without_invented_prompts_are_refused(model, tmp_path):
    with pytest.raises(ExplorerError, match="--invented N"):
        generate_data(model, options(tmp_path), ASKED, openings=["who"])


def test_a_share_of_the_replies_is_sampled(model, tmp_path):
    result = generate(model, options(tmp_path, sampled_share=0.5))
    warm = [line["temperature"] for line in records(result.out)[1]]
    assert 0 < warm.count(0.7) < len(warm)
    assert set(warm) == {0.0, 0.7}


def test_a_killed_run_loses_and_repeats_nothing(model, tmp_path):
    settings = {"invented": 12, "sampled_share": 0.3}
    whole = generate(model, options(tmp_path, **settings, out=tmp_path / "whole.jsonl.gz"))

    def kill(event):
        if event["done"] >= 15:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        generate(model, options(tmp_path, **settings), kill)
    part = tmp_path / "text.jsonl.gz.part"
    with open(part, "a", encoding="utf-8") as file:
        file.write('{"id": 29, "prompt": [1, 2], "respo')  # as a kill leaves it
    resumed = generate(model, options(tmp_path, **settings))
    assert records(resumed.out)[1] == records(whole.out)[1]
    assert not part.exists()


def test_a_run_with_other_settings_is_not_mixed_in(model, tmp_path):
    def kill(event):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        generate(model, options(tmp_path), kill)
    with pytest.raises(ExplorerError, match="other settings"):
        generate(model, options(tmp_path, seed=1))


def test_loops_are_dropped(model, tmp_path):
    result = generate(model, options(tmp_path, max_new_tokens=200, least_distinct=0.5))
    _, lines = records(result.out)
    assert result.dropped > 0
    assert all(distinct_share(line["response"]) >= 0.5 for line in lines)


def test_nothing_to_write_is_said(model, tmp_path):
    with pytest.raises(ExplorerError, match="nothing to write"):
        generate(model, options(tmp_path, prompts=None))


def test_without_a_chat_template_no_prompt_is_invented(model, tmp_path):
    model.tokenizer = TinyTokenizer()
    with pytest.raises(ExplorerError, match="no chat template"):
        generate(model, options(tmp_path, prompts=None, invented=3))


def test_a_place_that_cannot_be_written_is_one_sentence(model, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ExplorerError, match="cannot be written"):
        generate(model, options(tmp_path, out=tmp_path / "file" / "text.jsonl.gz"))


def test_random_state_is_left_alone(model, tmp_path):
    torch.manual_seed(5)
    expected = torch.rand(1)
    torch.manual_seed(5)
    generate(model, options(tmp_path, sampled_share=1.0))
    assert torch.equal(torch.rand(1), expected)
