"""The part of a loaded lab that measuring needs.

`lab.Lab` implements it. This package cannot import that class, because loading a lab measures this
machine's cost curve for `auto` trees.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol

from explorer.decoding.dynamic import DynamicTree
from explorer.decoding.loop import Prefilled, StepResult
from explorer.decoding.tree import Tree
from explorer.measuring.head_set import HeadSet
from explorer.models.base import LanguageModel
from explorer.records.events import Event
from explorer.records.settings import DecodeSettings


class LabProtocol(Protocol):
    """A model, its heads by architecture, and the ways to run them; see `lab.Lab`."""

    @property
    def model(self) -> LanguageModel:
        """The base model."""
        ...

    @property
    def heads(self) -> Mapping[str, HeadSet]:
        """The heads, by architecture."""
        ...

    def encode(self, prompt: str, settings: DecodeSettings) -> list[int]:
        """Token ids of the prompt. Raises ExplorerError if it is empty or too long."""
        ...

    def heads_for(self, settings: DecodeSettings) -> HeadSet | None:
        """The heads of the settings' method. Raises ExplorerError."""
        ...

    def tree_for(self, settings: DecodeSettings, prompt_tokens: int = 0) -> Tree | DynamicTree:
        """The tree that the settings ask for. Raises ExplorerError if it does not fit the heads."""
        ...

    def draft_model(self, layers: int = 0) -> LanguageModel:
        """The model that `draft-model` drafts with."""
        ...

    def steps(self, ids: list[int], settings: DecodeSettings) -> Iterator[Prefilled | StepResult]:
        """The steps of a method, without recording. Raises ExplorerError."""
        ...

    def decode(
        self, prompt: str, settings: DecodeSettings, cancel: threading.Event | None = None
    ) -> Iterator[Event]:
        """One lane, as events. Raises ExplorerError on bad input."""
        ...

    def pending(
        self, prompt: str, settings: DecodeSettings, cancel: threading.Event | None = None
    ) -> Iterator[Callable[[], Iterator[Event]]]:
        """One lane, as events that are still to be made, in their order."""
        ...

    def race(
        self, prompt: str, settings: DecodeSettings, cancel: threading.Event | None = None
    ) -> Iterator[Event]:
        """The settings' method and plain decoding, interleaved. Raises ExplorerError."""
        ...

    def compare(
        self,
        prompt: str,
        settings: DecodeSettings,
        methods: Sequence[str],
        cancel: threading.Event | None = None,
    ) -> Iterator[tuple[str, Event]]:
        """A lane a method, interleaved. Raises ExplorerError on bad input."""
        ...
