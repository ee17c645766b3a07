"""The settings that are shown are those that the method and the rule use."""

from __future__ import annotations

import gradio as gr
import pytest

from explorer.records.methods import methods_heeding, parameters
from explorer.records.settings import DecodeSettings
from explorer.ui.limits import PRIVATE
from explorer.ui.settings import SLIDERS, settings_inputs, shown_settings

RULES = ("tree", "top_p", "top_k", "seed", "epsilon", "delta", "root_rule")


def shown(method: str, acceptance: str = "auto", temperature: float = 0) -> set[str]:
    updates = shown_settings(method, acceptance, temperature)
    names = (*RULES, *parameters())
    return {name for name, update in zip(names, updates, strict=True) if update["visible"]}


def test_a_tree_is_chosen_only_where_a_method_has_one():
    assert "tree" in shown("medusa")
    assert "tree" not in shown("lookahead")


def test_every_method_shows_its_own_parameters_alone():
    for method in ("draft-model", "lookahead", "prompt-lookup"):
        own = {name for name in parameters() if method in methods_heeding(name)}
        assert own
        assert shown(method) == own


def test_sampling_and_typical_acceptance_bring_their_settings():
    drawn = {"top_p", "top_k", "seed"}
    assert drawn <= shown("medusa", temperature=0.7)
    # A root of typical acceptance that is drawn from all tokens heeds top-p and top-k.
    typical = {"epsilon", "delta", "root_rule"}
    assert shown("medusa", "typical", 0.7) & set(RULES) == {"tree"} | drawn | typical
    assert not drawn & shown("medusa")


@pytest.mark.parametrize("name", SLIDERS)
def test_a_slider_offers_only_what_the_setting_allows(name):
    low, high, step = SLIDERS[name]
    for value in (low, low + step, high):
        DecodeSettings.model_validate({name: value})


def test_what_needs_no_sampling_is_shown_at_first():
    with gr.Blocks():
        inputs = settings_inputs(PRIVATE)
    updates = shown_settings(inputs.method.value, inputs.acceptance.value, 0)
    for one, update in zip(inputs.dependent(), updates, strict=True):
        assert one.visible == update["visible"]
