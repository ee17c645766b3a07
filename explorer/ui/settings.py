"""The inputs for the settings of a run, each with an explanation."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import gradio as gr

from explorer.records.methods import METHODS, PLAIN, Parameter, methods_heeding, parameters
from explorer.records.settings import DecodeSettings
from explorer.ui.limits import Limits

DEFAULTS = DecodeSettings()
MAX_NEW_TOKENS = 1024  # of the slider
# The values of a choice, the range of a number, or None where any text or a tick will do.
Offer = list[str] | dict[str, Any] | None
SHAPED = ("medusa", "hydra")  # methods whose tree a reader chooses
ACCEPTANCE = [
    ("auto", "auto"),
    ("greedy (lossless)", "greedy"),
    ("sample (lossless)", "sample"),
    ("typical (lossy)", "typical"),
]
ROOT_RULES = [
    ("draw from all tokens", "draw"),
    ("greedy: the likeliest (the paper's rule)", "greedy"),
    ("typical: draw from the tokens above the bar", "typical"),
]


@dataclass(frozen=True)
class SettingsInputs:
    """The inputs of a run: names as in DecodeSettings, and `against`, the rival of the race."""

    method: gr.Dropdown
    against: gr.Dropdown
    tree: gr.Dropdown
    acceptance: gr.Dropdown
    temperature: gr.Slider
    top_p: gr.Slider
    top_k: gr.Slider
    epsilon: gr.Slider
    delta: gr.Slider
    root_rule: gr.Dropdown
    seed: gr.Number
    max_new_tokens: gr.Slider
    system_prompt: gr.Textbox
    raw_prompt: gr.Checkbox
    own: dict[str, gr.components.Component]

    def listed(self) -> list[gr.components.Component]:
        """The inputs in the order of `names`."""
        return [self.own.get(name) or getattr(self, name) for name in self.names()]

    def offers(self) -> list[Offer]:
        """What each of them may be, in the same order (`offered` of permalink.js)."""
        return [_offer(component) for component in self.listed()]

    def dependent(self) -> list[gr.components.Component]:
        """The inputs that only some methods or rules use, in the order of `shown_settings`."""
        sampling = (self.top_p, self.top_k, self.seed)
        typical = (self.epsilon, self.delta, self.root_rule)
        return [self.tree, *sampling, *typical, *self.own.values()]

    @classmethod
    def names(cls) -> list[str]:
        """The settings' names, those of single methods at the end."""
        return [*(field.name for field in fields(cls) if field.name != "own"), *parameters()]


def _offer(component: gr.components.Component) -> Offer:
    if isinstance(component, gr.Dropdown) and not component.allow_custom_value:
        return [str(value) for _, value in component.choices]
    if isinstance(component, gr.Slider | gr.Number):
        return {
            "minimum": component.minimum,
            "maximum": component.maximum,
            "whole": component.precision == 0 or component.step == 1,
        }
    return None


def shown_settings(method: str, acceptance: str, temperature: float) -> list[dict[str, Any]]:
    """Which of `SettingsInputs.dependent` the method and the rule use."""
    samples = temperature > 0
    typical = acceptance == "typical"
    # Of typical acceptance, roots that are drawn from all tokens heed top-p and top-k.
    shown = [method in SHAPED, samples, samples, samples, typical, typical, typical]
    shown += [method in methods_heeding(name) for name in parameters()]
    return [gr.update(visible=one) for one in shown]


def settings_inputs(limits: Limits) -> SettingsInputs:
    """Lay the settings out inside the current block."""
    with gr.Row():
        method = gr.Dropdown(
            list(METHODS),
            value=DEFAULTS.method,
            label="Method",
            info="Who guesses: heads (medusa, hydra), a small draft model, the base model itself "
            "(lookahead), or the text so far (prompt-lookup).",
            elem_id="mx-method",
        )
        against = gr.Dropdown(
            list(METHODS),
            value=PLAIN,
            label="Against",
            info="The rival in the race: plain decoding, or another method.",
            elem_id="mx-against",
        )
        tree = gr.Dropdown(
            list(limits.trees),
            value=DEFAULTS.tree,
            label="Candidate tree",
            info="auto: each step checks the guesses expected to repay their cost here. fixed: one "
            "tree for all steps. Also chain:K, cartesian:3,2,1, dynamic:N, or medusa_choices as "
            "JSON.",
            allow_custom_value=limits.free_tree,
            elem_id="mx-tree-setting",
        )
        acceptance = gr.Dropdown(
            ACCEPTANCE,
            value=DEFAULTS.acceptance,
            label="Acceptance rule",
            info="auto: greedy at temperature 0, else sample. Lossless: the text is, or is "
            "distributed as, the base model's own.",
        )
        max_new_tokens = gr.Slider(
            1,
            min(limits.new_tokens, MAX_NEW_TOKENS),
            value=DEFAULTS.max_new_tokens,
            step=1,
            label="Max new tokens",
            info="At most, for both methods.",
            elem_id="mx-new-tokens",
        )
    with gr.Row():
        sampling = _sampling_inputs()
        own = {name: _own_input(parameter) for name, parameter in parameters().items()}
        system_prompt = gr.Textbox(
            "",
            label="System prompt",
            info="Instructions for a chat model; empty: the model's own default.",
        )
        raw_prompt = gr.Checkbox(
            False,
            label="Raw prompt",
            info="Continue the text as it is, without the chat template.",
        )
    return SettingsInputs(
        method=method,
        against=against,
        tree=tree,
        acceptance=acceptance,
        max_new_tokens=max_new_tokens,
        system_prompt=system_prompt,
        raw_prompt=raw_prompt,
        own=own,
        **sampling,
    )


def _own_input(parameter: Parameter) -> gr.components.Component:
    """The input for a parameter of some methods."""
    label = parameter.name.replace("_", " ").capitalize()
    more: dict[str, Any] = {
        "value": parameter.default,
        "label": label,
        "info": parameter.text[:1].upper() + parameter.text[1:],
        "visible": DEFAULTS.method in methods_heeding(parameter.name),
    }
    if parameter.choices:
        return gr.Dropdown(list(parameter.choices), **more)
    assert parameter.minimum is not None  # what has no choices has a range
    assert parameter.maximum is not None
    return gr.Slider(parameter.minimum, parameter.maximum, step=1, **more)


def _sampling_inputs() -> dict[str, Any]:
    temperature = gr.Slider(
        0,
        2,
        value=DEFAULTS.temperature,
        step=0.05,
        label="Temperature",
        info="0: always the likeliest token (greedy).",
        elem_id="mx-temperature",
    )
    top_p = gr.Slider(
        0.05,
        1,
        value=DEFAULTS.top_p,
        step=0.01,
        label="Top-p",
        visible=False,
        info="Draw among the likeliest tokens that together have probability p.",
    )
    top_k = gr.Slider(
        0,
        200,
        value=DEFAULTS.top_k,
        step=1,
        label="Top-k",
        visible=False,
        info="Draw among the k likeliest tokens; 0: all.",
    )
    seed = gr.Number(
        DEFAULTS.seed,
        precision=0,
        minimum=0,
        label="Seed",
        visible=False,
        info="With the same seed and settings, the text is the same.",
    )
    epsilon = gr.Slider(
        0.01,
        1,
        value=DEFAULTS.epsilon,
        step=0.01,
        label="ε of typical acceptance",
        visible=False,
        info="A guess that is likelier than this is above the bar. Top-p and top-k do not count.",
    )
    delta = gr.Slider(
        0,
        1,
        value=DEFAULTS.delta,
        step=0.01,
        label="δ of typical acceptance",
        visible=False,
        info="The bar is the smaller of ε and δ·exp(−entropy): unsure model, lower bar. 0: √ε.",
    )
    root_rule = gr.Dropdown(
        ROOT_RULES,
        value=DEFAULTS.root_rule,
        label="Root of typical acceptance",
        visible=False,
        info="How the token after the accepted path is chosen. Top-p and top-k count in a draw "
        "from all tokens only.",
    )
    return {
        "temperature": temperature,
        "top_p": top_p,
        "top_k": top_k,
        "seed": seed,
        "epsilon": epsilon,
        "delta": delta,
        "root_rule": root_rule,
    }
