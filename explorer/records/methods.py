"""Every way to decode, by name: its explanation, its parameters, its colour and mark.

A new method is one entry here and one file in explorer/decoding, named as the method is
(`draft-model`: draft_model.py; decoding/registry.py). Command line, pages, traces, API and README
take everything from here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter, ValidationError

from explorer.records.errors import ExplorerError

PLAIN = "plain"


@dataclass(frozen=True)
class Parameter:
    """A setting that only some methods use: a whole number with a range, or one of `choices`."""

    name: str
    default: int | str
    text: str
    minimum: int | None = None
    maximum: int | None = None
    choices: tuple[str, ...] = ()

    @property
    def kind(self) -> object:
        """Its type, with its range."""
        if self.choices:
            return Literal[self.choices]
        return Annotated[int, Field(ge=self.minimum, le=self.maximum)]

    @property
    def range(self) -> str:
        """Its range or choices, in a few characters."""
        return "/".join(self.choices) or f"{self.minimum}–{self.maximum}"

    def checked(self, value: object) -> int | str:
        """The value. Raises ValueError with a sentence if it does not fit."""
        try:
            return self._adapter.validate_python(value)
        except ValidationError as error:
            problem = error.errors()[0]["msg"]
            raise ValueError(f"{self.name}: {problem}; you gave {value!r:.60}.") from None

    @cached_property
    def _adapter(self) -> TypeAdapter:
        return TypeAdapter(self.kind)


@dataclass(frozen=True)
class Method:
    """A decoding method.

    title, code  its name for a reader, and two letters for narrow places
    explanation  one sentence for the reader
    source       the paper
    memory       the memory that it needs in addition to the base model
    drafter      who guesses the nodes of a depth; {depth} stands for its number
    colour       of its marks, as CSS has it: a variable of the palette (figures/palette.py)
    mark         the shape of its marks: an SVG path around 0, 0, of radius 1
    parameters   the settings that only this method (or only some methods) use
    heads        the architecture of the heads it needs (heads/heads.py); "" for none
    draft_model  whether it drafts with a separate model
    words        the code of the sentence on its drafts (records/sentences.py)
    """

    name: str
    title: str
    code: str
    explanation: str
    source: str
    memory: str
    drafter: str
    colour: str
    mark: str
    parameters: tuple[Parameter, ...] = ()
    heads: str = ""
    draft_model: bool = False
    words: str = "draft"

    def heeds(self, parameter: str) -> bool:
        """Whether a parameter is one of its own."""
        return any(own.name == parameter for own in self.parameters)


CIRCLE = "M-1 0A1 1 0 1 1 1 0A1 1 0 1 1-1 0Z"

METHODS = {
    method.name: method
    for method in (
        Method(
            PLAIN,
            title="Plain decoding",
            code="Pl",
            explanation="One token per pass of the base model: the baseline.",
            source="",
            memory="nothing",
            drafter="nobody",
            colour="var(--sx-grey-fill)",
            mark="M-1-.3H1V.3H-1Z",
        ),
        Method(
            "medusa",
            title="Medusa",
            code="Me",
            explanation="Heads on the base model's last hidden state guess several tokens ahead; "
            "one pass over the tree of guesses checks them all.",
            source="Cai et al. 2024, arXiv 2401.10774",
            memory="the heads; no KV cache of their own",
            drafter="head {depth}",
            colour="var(--sx-green-fill)",
            mark=CIRCLE,
            parameters=(
                Parameter(
                    "candidates",
                    "top",
                    "a head's best guesses, or guesses drawn from its distribution, which are "
                    "judged by rejection sampling (needs a temperature above 0; the tree auto is "
                    "then the fixed one)",
                    choices=("top", "drawn"),
                ),
            ),
            heads="medusa",
            words="draft-medusa",
        ),
        Method(
            "hydra",
            title="Hydra",
            code="Hy",
            explanation="Medusa whose heads also see the tokens on their path, so each guess fits "
            "the ones before it; drafting goes depth by depth.",
            source="Ankner et al. 2024, arXiv 2402.05109",
            memory="the heads; no KV cache of their own",
            drafter="head {depth}",
            colour="var(--sx-blue-fill)",
            mark="M-1-1H1V1H-1Z",
            heads="hydra",
            words="draft-hydra",
        ),
        Method(
            "draft-model",
            title="Draft model",
            code="Dm",
            explanation="A small model writes a few tokens ahead, one after the other; one pass of "
            "the base model checks them all.",
            source="Leviathan et al. 2023, arXiv 2211.17192; Chen et al. 2023, arXiv 2302.01318",
            memory="the draft model's own weights and its KV cache",
            drafter="the draft model",
            colour="var(--sx-orange)",
            mark="M0-1.25L1.2 1H-1.2Z",
            parameters=(
                Parameter(
                    "draft_tokens",
                    3,
                    "K: tokens that the draft model writes in a step",
                    minimum=1,
                    maximum=32,
                ),
                Parameter(
                    "draft_layers",
                    0,
                    "number of leading base-model layers to draft with; 0: the trained draft "
                    "model if there is one, else a fifth of the layers",
                    minimum=0,
                    maximum=512,
                ),
            ),
            draft_model=True,
            words="draft-model",
        ),
        Method(
            "lookahead",
            words="draft-copied",
            title="Lookahead",
            code="La",
            explanation="The base model guesses a window of later positions in the same pass, over "
            "and over (Jacobi iteration); it keeps the n-grams that appear and checks one when its "
            "first token is written.",
            source="Fu et al. 2024, arXiv 2402.02057",
            memory="a pool of n-grams: kilobytes",
            drafter="the n-gram pool",
            colour="var(--sx-pink)",
            mark="M0-1.35L1.35 0L0 1.35L-1.35 0Z",
            parameters=(
                Parameter(
                    "lookahead_window",
                    4,
                    "W: number of later positions to guess in parallel",
                    minimum=1,
                    maximum=32,
                ),
                Parameter(
                    "lookahead_ngram",
                    3,
                    "N: tokens in an n-gram; the guesses of N − 1 steps are kept",
                    minimum=3,
                    maximum=8,
                ),
                Parameter(
                    "lookahead_guesses",
                    3,
                    "G: n-grams from the pool to verify in a step",
                    minimum=1,
                    maximum=32,
                ),
            ),
        ),
        Method(
            "prompt-lookup",
            words="draft-copied",
            title="Prompt lookup",
            code="Lk",
            explanation="Where the last tokens occurred before, in the prompt or the reply, "
            "what followed them there is copied as the guess.",
            source="Saxena 2023, github.com/apoorvumang/prompt-lookup-decoding",
            memory="an index of the text: kilobytes",
            drafter="the text so far",
            colour="var(--sx-sky)",
            mark="M0 1.25L1.2-1H-1.2Z",
            parameters=(
                Parameter(
                    "lookup_tokens",
                    4,
                    "tokens to copy after the match",
                    minimum=1,
                    maximum=64,
                ),
                Parameter(
                    "lookup_ngram",
                    3,
                    "longest run of last tokens to search for in the text so far",
                    minimum=1,
                    maximum=16,
                ),
            ),
        ),
    )
}


def parameters() -> dict[str, Parameter]:
    """The parameters of all methods, by name."""
    return {own.name: own for method in METHODS.values() for own in method.parameters}


def methods_heeding(parameter: str) -> list[str]:
    """The names of the methods that use a parameter."""
    return [method.name for method in METHODS.values() if method.heeds(parameter)]


def known_methods(names: Iterable[str]) -> list[str]:
    """The names, each once. Raises ExplorerError for an unknown one."""
    once = list(dict.fromkeys(names))
    for name in once:
        if name not in METHODS:
            known = ", ".join(METHODS)
            raise ExplorerError(f"There is no method '{name:.40}': choose from {known}.")
    return once


def race_methods(names: Iterable[str]) -> list[str]:
    """The methods of a race, plain first. Raises ExplorerError for no race, or unknown names."""
    given = known_methods(names)
    rivals = [name for name in given if name != PLAIN]
    if PLAIN not in given or not rivals:
        raise ExplorerError(
            f"A race needs plain and at least one other method, but you gave '{','.join(given)}': "
            "try plain,medusa."
        )
    return [PLAIN, *rivals]


def shown_methods() -> list[dict[str, str]]:
    """What a page shows of each method."""
    shown = ("name", "code", "colour", "mark", "explanation", "memory", "source")
    return [{field: getattr(method, field) for field in shown} for method in METHODS.values()]


def find_method(name: str, heads: Collection[str]) -> Method:
    """The method called `name`; `heads` are the architectures at hand.

    Raises ExplorerError if it is unknown or lacks its heads.
    """
    method = METHODS.get(name)
    if method is None:
        raise ExplorerError(f"There is no method '{name:.40}': choose one of {', '.join(METHODS)}.")
    if method.heads and method.heads not in heads:
        raise ExplorerError(
            f"The method '{name}' needs {method.heads.title()} heads and this model has none: "
            "give --heads, or use plain."
        )
    return method
