"""Plain decoding beside transformers' own `generate()`."""

import pytest

from explorer.measuring import reference as reference_module
from explorer.measuring.reference import (
    clocked_generate,
    generate,
    measure_reference,
    plain,
)
from explorer.records.settings import decode_settings
from tests.decoding.tiny import tiny_model
from tests.tiny_lab import tiny_lab


def test_generate_and_plain_write_the_same_and_stop_alike():
    lab = tiny_lab()
    ids = lab.encode("hello", decode_settings())
    text, seconds = plain(lab, ids, 20)
    assert len(text) == 20
    assert seconds > 0
    theirs, seconds = generate(lab.model, ids, 20)
    assert theirs == text
    assert seconds > 0
    stopping = tiny_lab(eos_ids=[text[4]])
    end = text.index(text[4]) + 1
    assert plain(stopping, ids, 20)[0] == text[:end]
    assert generate(stopping.model, ids, 20)[0] == text[:end]


def test_the_reference_counts_passes_and_changes_who_goes_first(monkeypatch):
    order = []

    def fake(name, tokens, seconds):
        def run(_, ids, max_new_tokens):
            order.append(name)
            return list(range(tokens)), seconds

        return run

    monkeypatch.setattr(reference_module, "plain", fake("plain", 11, 0.5))
    monkeypatch.setattr(reference_module, "generate", fake("generate", 6, 0.5))
    found = measure_reference(tiny_lab(), ["a", "b"], 16)
    # the first token comes from the prefill: 2 · 10 and 2 · 5 passes in a second each
    assert found.plain_tokens_per_second == pytest.approx(20)
    assert found.generate_tokens_per_second == pytest.approx(10)
    assert found.plain_over_generate == pytest.approx(2)
    assert found.identical_prompts == 0
    assert order[2:] == ["generate", "plain", "plain", "generate"]


def test_generate_leaves_our_attention_in_place():
    lab = tiny_lab()
    assert lab.model.fixed_order
    generate(lab.model, [1, 2], 2)
    assert lab.model.fixed_order


def test_a_reference_over_no_prompts():
    found = measure_reference(tiny_lab(), [])
    assert found.plain_over_generate is None


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("repetition_penalty", 1.3),
        ("no_repeat_ngram_size", 2),
        ("suppress_tokens", [5, 40]),
        ("forced_eos_token_id", 2),
        ("min_new_tokens", 30),
        ("do_sample", True),
        ("num_beams", 3),
    ],
)
def test_no_setting_of_the_models_own_leaks_into_generate(setting, value):
    prompt = list(range(5, 25))
    expected, _ = clocked_generate(tiny_model("llama"), prompt, 40)
    model = tiny_model("llama")
    own = model.network.generation_config
    setattr(own, setting, value if setting != "suppress_tokens" else [expected[5]])
    assert clocked_generate(model, prompt, 40)[0] == expected
    assert model.network.generation_config is own
