"""Every way to decode, by name. A new method is one file beside this one and one entry here.

What is said here of a method is what the command line, the page and the README say of it. The
drafters are imported when they are made, so that telling about methods needs no torch.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args, get_origin

from explorer.records.errors import ExplorerError
from explorer.records.settings import DecodeSettings

if TYPE_CHECKING:
    from explorer.decoding.dynamic import DynamicTree
    from explorer.decoding.loop import Drafter
    from explorer.decoding.tree import Tree
    from explorer.heads.heads import MedusaHeads
    from explorer.models.base import LanguageModel

PLAIN = "plain"


@dataclass(frozen=True)
class Kit:
    """What drafters are made from. `draft_model(layers)` gives the draft model asked for."""

    model: LanguageModel
    heads: MedusaHeads | None
    tree: Tree | DynamicTree
    draft_model: Callable[[int], LanguageModel]


@dataclass(frozen=True)
class Method:
    """A decoding method.

    explanation  one sentence for the reader
    source       the paper
    memory       what it costs in memory beside the base model
    parameters   the fields of DecodeSettings that only it (or only some methods) heed
    heads        the architecture of the heads it needs (heads/heads.py); "" for none
    lossless     whether it is, under the rules greedy and sample; typical acceptance never is
    """

    name: str
    explanation: str
    source: str
    memory: str
    make_drafter: Callable[[Kit, DecodeSettings], Drafter]
    parameters: tuple[str, ...] = ()
    heads: str = ""
    lossless: bool = True


@dataclass(frozen=True)
class Parameter:
    """A parameter's name, default and range; `choices` instead of a range where there are few."""

    name: str
    default: int | str
    least: int | None
    most: int | None
    choices: tuple[str, ...]
    text: str


def parameter(name: str) -> Parameter:
    """What DecodeSettings says of one of its fields."""
    field = DecodeSettings.model_fields[name]
    bounds = {
        key: getattr(m, key) for m in field.metadata for key in ("ge", "le") if hasattr(m, key)
    }
    choices = get_args(field.annotation) if get_origin(field.annotation) is Literal else ()
    return Parameter(
        name, field.default, bounds.get("ge"), bounds.get("le"), choices, field.description or ""
    )


def _plain(kit: Kit, settings: DecodeSettings) -> Drafter:
    from explorer.decoding.plain import PlainDrafter

    return PlainDrafter()


def _medusa(kit: Kit, settings: DecodeSettings) -> Drafter:
    from explorer.decoding.dynamic import DynamicTree

    if settings.candidates == "drawn":
        from explorer.decoding.drawn import DrawnMedusaDrafter

        if isinstance(kit.tree, DynamicTree):
            raise ExplorerError(
                "Drawn candidates need a fixed tree: choose fixed or a named shape."
            )
        return DrawnMedusaDrafter(kit.heads, kit.tree, settings, kit.model.context_length)
    if isinstance(kit.tree, DynamicTree):
        from explorer.decoding.dynamic import DynamicMedusaDrafter

        return DynamicMedusaDrafter(kit.heads, kit.tree)
    from explorer.decoding.medusa import MedusaDrafter

    return MedusaDrafter(kit.heads, kit.tree)


def _hydra(kit: Kit, settings: DecodeSettings) -> Drafter:
    from explorer.decoding.dynamic import DynamicTree

    if isinstance(kit.tree, DynamicTree):
        from explorer.decoding.dynamic import DynamicHydraDrafter

        return DynamicHydraDrafter(kit.heads, kit.tree)
    from explorer.decoding.hydra import HydraDrafter

    return HydraDrafter(kit.heads, kit.tree)


def _draft_model(kit: Kit, settings: DecodeSettings) -> Drafter:
    from explorer.decoding.draft_model import DraftModelDrafter
    from explorer.models.early_exit import require_same_tokenizer

    draft = kit.draft_model(settings.draft_layers)
    require_same_tokenizer(kit.model, draft)
    return DraftModelDrafter(draft, settings, kit.model.vocab_size, kit.model.context_length)


def _lookahead(kit: Kit, settings: DecodeSettings) -> Drafter:
    from explorer.decoding.lookahead import LookaheadDrafter

    return LookaheadDrafter(
        settings.lookahead_window,
        settings.lookahead_ngram,
        settings.lookahead_guesses,
        settings.seed,
    )


def _prompt_lookup(kit: Kit, settings: DecodeSettings) -> Drafter:
    from explorer.decoding.prompt_lookup import PromptLookupDrafter

    return PromptLookupDrafter(settings.lookup_tokens, settings.lookup_ngram)


METHODS = {
    method.name: method
    for method in (
        Method(
            PLAIN,
            "One token per pass of the base model: the baseline.",
            source="",
            memory="nothing",
            make_drafter=_plain,
        ),
        Method(
            "medusa",
            "Heads on the base model's last hidden state guess several tokens ahead; one pass "
            "over the tree of guesses checks them all.",
            source="Cai et al. 2024, arXiv 2401.10774",
            memory="the heads; no KV cache of their own",
            make_drafter=_medusa,
            parameters=("candidates",),
            heads="medusa",
        ),
        Method(
            "hydra",
            "Medusa whose heads also see the tokens on their path, so each guess fits the ones "
            "before it; drafting goes depth by depth.",
            source="Ankner et al. 2024, arXiv 2402.05109",
            memory="the heads; no KV cache of their own",
            make_drafter=_hydra,
            heads="hydra",
        ),
        Method(
            "draft-model",
            "A small model writes a few tokens ahead, one after the other; one pass of the base "
            "model checks them all.",
            source="Leviathan et al. 2023, arXiv 2211.17192; Chen et al. 2023, arXiv 2302.01318",
            memory="the draft model's own weights and its KV cache",
            make_drafter=_draft_model,
            parameters=("draft_tokens", "draft_layers"),
        ),
        Method(
            "lookahead",
            "The base model guesses a window of later positions in the same pass, over and over "
            "(Jacobi iteration); n-grams that come up are kept and checked when their first "
            "token is written.",
            source="Fu et al. 2024, arXiv 2402.02057",
            memory="a pool of n-grams: kilobytes",
            make_drafter=_lookahead,
            parameters=("lookahead_window", "lookahead_ngram", "lookahead_guesses"),
        ),
        Method(
            "prompt-lookup",
            "Where the last tokens have occurred before, in the prompt or the reply, what "
            "followed them there is copied as the guess.",
            source="Saxena 2023, github.com/apoorvumang/prompt-lookup-decoding",
            memory="an index of the text: kilobytes",
            make_drafter=_prompt_lookup,
            parameters=("lookup_tokens", "lookup_ngram"),
        ),
    )
}


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


def method_parameters() -> dict[str, list[str]]:
    """The names of all parameters of methods, each with the methods that heed it."""
    heeded: dict[str, list[str]] = {}
    for method in METHODS.values():
        for name in method.parameters:
            heeded.setdefault(name, []).append(method.name)
    return heeded


def known_methods(names: Iterable[str]) -> list[str]:
    """The names, each once. Raises ExplorerError for one that no method has."""
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
            f"A race needs plain and one other method at least, but you gave '{','.join(given)}': "
            "name for example plain,medusa."
        )
    return [PLAIN, *rivals]
