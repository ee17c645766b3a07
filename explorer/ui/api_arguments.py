"""The arguments of the app's endpoints: their types, defaults and one-line descriptions.

All settings of a run are arguments, as explorer.records.settings.DecodeSettings has them.
"""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import gradio as gr

from explorer.records.methods import METHODS, PLAIN, parameters
from explorer.records.settings import DecodeSettings

NEEDED = inspect.Parameter.empty
ABOUT = {
    "tree": "the candidate tree: auto takes, in each step, the nodes that are worth "
    "their row here; fixed is the best tree that stays the same; root, chain:3, "
    "cartesian:3,2,1, dynamic:8, or rank paths like [[0], [1], [0, 0]]",
    "acceptance": "which guesses count: auto is greedy at temperature 0 and sample above, both "
    "lossless; typical is lossy",
    "temperature": "0: always the likeliest token; above 0: sampling",
    "top_p": "keep the likeliest tokens up to this probability (nucleus sampling); 1: all",
    "top_k": "keep this many likeliest tokens; 0: all",
    "epsilon": "typical acceptance: a token with this probability is always accepted",
    "delta": "typical acceptance: the bar is the smaller of epsilon and delta·exp(−entropy); "
    "0: the root of epsilon",
    "root_rule": "typical acceptance: each root is a draw from the base model (draw), its "
    "likeliest token (greedy, as in the paper), or a draw from the tokens above the bar (typical)",
    "seed": "with the same seed and settings, sampling gives the same text",
    "max_new_tokens": "maximum length of the reply, in tokens",
    "system_prompt": "instructions for a chat model; none: the model's own default",
    "raw_prompt": "continue the prompt as plain text, without the chat template",
}


@dataclass(frozen=True)
class Argument:
    """An argument of an endpoint. `kind` is a Python type; `about` stands in one line."""

    name: str
    kind: Any
    default: Any
    about: str


PROMPT = Argument("prompt", str, NEEDED, "what the model should answer")
TRACE = Argument("trace", bool, False, "also return the complete, replayable record of every step")


def run_arguments() -> list[Argument]:
    """Those of `run`."""
    return [PROMPT, *_settings(), TRACE]


def race_arguments() -> list[Argument]:
    """Those of `race`."""
    lanes = Argument(
        "methods",
        list[str],
        [PLAIN, DecodeSettings().method],
        f"plain, and the methods to race against it: {', '.join(METHODS)}",
    )
    return [PROMPT, lanes, *(given for given in _settings() if given.name != "method"), TRACE]


def _settings() -> list[Argument]:
    about = ABOUT | {"method": f"who guesses the tokens ahead: {', '.join(METHODS)}"}
    return [
        *(
            Argument(name, field.annotation, field.default, about[name])
            for name, field in DecodeSettings.model_fields.items()
        ),
        *(Argument(p.name, p.kind, p.default, p.text) for p in parameters().values()),
    ]


def describe(
    function: Callable, name: str, about: str, arguments: Sequence[Argument], answer: Any
) -> None:
    """Give a function of `*values` the name, signature and docstring that Gradio documents.

    The last of its values is the request, which Gradio fills in.
    """
    lines = "\n".join(f"    {argument.name}: {argument.about}" for argument in arguments)
    function.__name__ = name
    function.__doc__ = f"{about}\n\nArgs:\n{lines}"
    accepted = [*arguments, Argument("request", gr.Request, None, "")]
    function.__annotations__ = {a.name: a.kind for a in accepted} | {"return": answer}
    parameters = [
        inspect.Parameter(
            argument.name,
            inspect.Parameter.POSITIONAL_OR_KEYWORD,
            default=argument.default,
            annotation=argument.kind,
        )
        for argument in accepted
    ]
    function.__signature__ = inspect.Signature(parameters, return_annotation=answer)
