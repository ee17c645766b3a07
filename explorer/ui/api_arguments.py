"""The arguments of the app's endpoints: their types, defaults and one-line descriptions.

All settings of a run are arguments, as explorer.records.settings.DecodeSettings has them.
"""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import gradio as gr

from explorer.records.methods import METHODS, PLAIN, parameters
from explorer.records.settings import DecodeSettings, about

NEEDED = inspect.Parameter.empty


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
    return [
        *(
            Argument(name, field.annotation, field.default, about(name))
            for name, field in DecodeSettings.model_fields.items()
        ),
        *(Argument(p.name, p.kind, p.default, p.text) for p in parameters().values()),
    ]


def describe(
    function: Callable, name: str, purpose: str, arguments: Sequence[Argument], answer: Any
) -> None:
    """Give a function of `*values` the name, signature and docstring that Gradio documents.

    The last of its values is the request, which Gradio fills in.
    """
    lines = "\n".join(f"    {argument.name}: {argument.about}" for argument in arguments)
    function.__name__ = name
    function.__doc__ = f"{purpose}\n\nArgs:\n{lines}"
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
