"""A browser's request to the Compare page, checked: methods, prompts, length and tree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Literal, get_args

from pydantic import BaseModel as Schema
from pydantic import ConfigDict, Field, ValidationError

from explorer.records.errors import ExplorerError
from explorer.records.methods import METHODS, PLAIN
from explorer.records.prompts import BUILT_IN, Prompt, parse_prompts, read_prompts
from explorer.records.settings import MAX_TREE_CHARACTERS, decode_settings
from explorer.ui.limits import Limits

MAX_FILE_CHARACTERS = 1_000_000
MAX_TEXTS = 1_000
# Beside comparing: measure batches; show which method would have known each token first.
Aside = Literal["", "batches", "overlap"]


class _Asked(Schema):
    """The message as received. One of `builtin` (ids), `own` (texts) and `file` holds prompts.

    `aside`: what to do instead of comparing methods.
    """

    model_config = ConfigDict(extra="forbid", strict=True)

    methods: list[str] = Field(max_length=20)
    builtin: list[str] = Field(default=[], max_length=MAX_TEXTS)
    own: list[str] = Field(default=[], max_length=MAX_TEXTS)
    file: str | None = Field(default=None, max_length=MAX_FILE_CHARACTERS)
    max_new_tokens: int
    tree: str = Field(max_length=MAX_TREE_CHARACTERS)
    aside: Aside = ""


@dataclass(frozen=True)
class Request:
    """A valid comparison. `prompts` are records with "id", "category" and "prompt"."""

    prompts: list[Prompt]
    methods: list[str]
    max_new_tokens: int
    tree: str
    aside: Aside = ""


@cache
def built_in_prompts() -> tuple[Prompt, ...]:
    """The product's own prompts, several of each category."""
    return tuple(read_prompts(str(BUILT_IN)))


def aside_of(asked: object) -> Aside:
    """What a request, even a refused one, is about that does not end a comparison, if anything."""
    named = asked.get("aside") if isinstance(asked, Mapping) else ""
    return next((aside for aside in get_args(Aside) if aside == named), "")


def checked(asked: object, limits: Limits) -> Request:
    """The request of a browser. Raises ExplorerError if it is invalid or too large."""
    try:
        found = _Asked.model_validate(asked)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "request"
        raise ExplorerError(f"The page sent an invalid request ({where}): reload it.") from error
    methods = [name for name in dict.fromkeys(found.methods) if name != PLAIN]
    if not methods and not found.aside:
        raise ExplorerError("Choose at least one method besides plain.")
    unknown = next((name for name in methods if name not in METHODS), None)
    if unknown is not None:
        raise ExplorerError(f"There is no method '{unknown:.40}': reload the page.")
    prompts = _prompts(found)
    _check_amount(prompts, found.max_new_tokens, limits)
    settings = decode_settings(max_new_tokens=found.max_new_tokens, tree=found.tree)
    for record in prompts:
        limits.check(record["prompt"], settings)
    return Request(prompts, methods, found.max_new_tokens, found.tree, found.aside)


def _prompts(asked: _Asked) -> list[Prompt]:
    if asked.file is not None:
        return parse_prompts(asked.file, "the file")
    if asked.own:
        texts = [text.strip() for text in asked.own if text.strip()]
        if not texts:
            raise ExplorerError("Your own prompts are empty: write one, or pick another source.")
        return [
            {"id": f"own-{number}", "category": "own", "prompt": text}
            for number, text in enumerate(texts, start=1)
        ]
    known: Mapping[str, Prompt] = {record["id"]: record for record in built_in_prompts()}
    chosen = [known[name] for name in asked.builtin if name in known]
    if not chosen:
        raise ExplorerError("There are no prompts: choose a category, or write one of your own.")
    return chosen


def _check_amount(prompts: list[Prompt], new_tokens: int, limits: Limits) -> None:
    if len(prompts) > limits.compared_prompts:
        raise ExplorerError(
            f"There are {len(prompts)} prompts and at most {limits.compared_prompts} are allowed "
            "here: choose fewer."
        )
    if not 1 <= new_tokens <= limits.compared_tokens:
        raise ExplorerError(
            f"Choose between 1 and {limits.compared_tokens} new tokens for a comparison."
        )
