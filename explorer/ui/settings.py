"""The inputs for the settings of a run, each with an explanation."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import gradio as gr

from explorer.records.methods import METHODS, PLAIN, Parameter, methods_heeding, parameters
from explorer.records.settings import CHOICES, TYPICAL, DecodeSettings
from explorer.ui.limits import Limits

DEFAULTS = DecodeSettings()
# The values of a choice, the range of a number, or None where any text or a tick will do.
Offer = list[str] | dict[str, Any] | None
SHAPED = ("medusa", "hydra")  # methods whose tree a reader chooses
DRAWN = ("top_p", "top_k")  # settings of a draw from all tokens
SLIDERS = {  # lowest value, highest value and step by hand: less than the whole range of a setting
    "temperature": (0, 2, 0.05),
    "top_p": (0.05, 1, 0.01),
    "top_k": (0, 200, 1),
    "epsilon": (0.01, 1, 0.01),
    "delta": (0, 1, 0.01),
    "max_new_tokens": (1, 1024, 1),
}
IDS = {  # of the inputs that style sheets and the tour look for
    "method": "mx-method",
    "tree": "mx-tree-setting",
    "temperature": "mx-temperature",
    "max_new_tokens": "mx-new-tokens",
}


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
        typical = (getattr(self, name) for name in TYPICAL)
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
    low, high, step = SLIDERS["max_new_tokens"]
    with gr.Row():
        method = gr.Dropdown(list(METHODS), **_shown("method"))
        against = gr.Dropdown(
            list(METHODS),
            value=PLAIN,
            label="Against",
            info="The rival in the race: plain decoding, or another method.",
            elem_id="mx-against",
        )
        tree = gr.Dropdown(
            list(limits.trees), allow_custom_value=limits.free_tree, **_shown("tree")
        )
        acceptance = gr.Dropdown(_choices("acceptance"), **_shown("acceptance"))
        new_tokens = gr.Slider(
            low, min(limits.new_tokens, high), step=step, **_shown("max_new_tokens")
        )
    with gr.Row():
        temperature, top_p, top_k = (_slider(name) for name in ("temperature", *DRAWN))
        seed = gr.Number(precision=0, minimum=0, **_shown("seed"))
        epsilon, delta = (_slider(name) for name in ("epsilon", "delta"))
        root_rule = gr.Dropdown(_choices("root_rule"), **_shown("root_rule"))
        own = {name: _own_input(parameter) for name, parameter in parameters().items()}
        system_prompt = gr.Textbox(**_shown("system_prompt"))
        raw_prompt = gr.Checkbox(**_shown("raw_prompt"))
    return SettingsInputs(
        method=method,
        against=against,
        tree=tree,
        acceptance=acceptance,
        temperature=temperature,
        top_p=top_p,
        top_k=top_k,
        epsilon=epsilon,
        delta=delta,
        root_rule=root_rule,
        seed=seed,
        max_new_tokens=new_tokens,
        system_prompt=system_prompt,
        raw_prompt=raw_prompt,
        own=own,
    )


def _shown(name: str) -> dict[str, Any]:
    """What the input of a setting shows, as DecodeSettings has it."""
    field = DecodeSettings.model_fields[name]
    return {
        "value": "" if field.default is None else field.default,
        "label": field.title,
        "info": _sentence(field.description or ""),
        "visible": name not in (*DRAWN, "seed", *TYPICAL),  # greedy decoding needs none of them
        "elem_id": IDS.get(name),
    }


def _slider(name: str) -> gr.Slider:
    low, high, step = SLIDERS[name]
    return gr.Slider(low, high, step=step, **_shown(name))


def _choices(name: str) -> list[tuple[str, str]]:
    """The choices of a setting with what they mean, and their values."""
    return [(f"{one} ({meaning})", one) for one, meaning in CHOICES[name].items()]


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _own_input(parameter: Parameter) -> gr.components.Component:
    """The input for a parameter of some methods."""
    label = parameter.name.replace("_", " ").capitalize()
    more: dict[str, Any] = {
        "value": parameter.default,
        "label": label,
        "info": _sentence(parameter.text),
        "visible": DEFAULTS.method in methods_heeding(parameter.name),
    }
    if parameter.choices:
        return gr.Dropdown(list(parameter.choices), **more)
    assert parameter.minimum is not None  # what has no choices has a range
    assert parameter.maximum is not None
    return gr.Slider(parameter.minimum, parameter.maximum, step=1, **more)
