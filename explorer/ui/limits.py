"""Limits for visitors; a public host has lower ones, for everyone."""

from __future__ import annotations

from dataclasses import dataclass

from explorer.records.continuation import Continuation
from explorer.records.errors import ExplorerError
from explorer.records.methods import parameters
from explorer.records.settings import MAX_NEW_TOKENS, MAX_PROMPT_CHARACTERS, DecodeSettings

TREES = (
    "auto",
    "fixed",
    "root",
    "chain:1",
    "chain:2",
    "chain:3",
    "cartesian:2,2",
    "cartesian:3,2,1",
    "dynamic:3",
    "dynamic:8",
)
LARGE_TREES = ("cartesian:4,3,2", "cartesian:6,3,2", "dynamic:32")


@dataclass(frozen=True)
class Limits:
    """Upper bounds of one run. `free_tree`: a visitor may write a tree.

    `opens_paths`: a visitor may name a folder or a Hub id of heads, which is then read.
    `attention_tokens`: of a text whose attention weights are computed.
    `compared_prompts` and `compared_tokens` are those of a comparison, which runs every method.
    """

    prompt_characters: int
    new_tokens: int
    free_tree: bool
    waiting_runs: int
    opens_paths: bool = True
    attention_tokens: int = 2**20
    continued_text: int | None = None  # tokens, the prompt included
    compared_prompts: int = 200
    compared_tokens: int = 512

    @property
    def trees(self) -> tuple[str, ...]:
        """The trees to choose from."""
        return (*TREES, *LARGE_TREES) if self.free_tree else TREES

    def obstacle(self, text: Continuation) -> str | None:
        """Why a text cannot be continued here, in a sentence; None if it can."""
        if self.continued_text is None or len(text.ids) < self.continued_text:
            return None
        return (
            f"There is no room to continue: the text has {len(text.ids):,} tokens, and up to "
            f"{self.continued_text:,} are continued here."
        )

    def check(self, prompt: str, settings: DecodeSettings) -> None:
        """Raise ExplorerError for a run above the limits."""
        characters = len(prompt) + len(settings.system_prompt or "")
        if characters > self.prompt_characters:
            raise ExplorerError(
                f"The prompt has {characters:,} characters; at most {self.prompt_characters:,} are "
                "allowed here: shorten it."
            )
        if settings.max_new_tokens > self.new_tokens:
            raise ExplorerError(
                f"At most {self.new_tokens:,} new tokens are allowed here: lower the number."
            )
        if not self.free_tree and settings.tree not in self.trees:
            raise ExplorerError(f"Choose one of the trees {', '.join(self.trees)}.")
        if not self.free_tree:
            self._check_parameters(settings)

    def _check_parameters(self, settings: DecodeSettings) -> None:
        """Parameters of single methods can make a step a hundred times as long."""
        for name, given in parameters().items():
            if not given.choices and getattr(settings, name) != given.default:
                raise ExplorerError(f"{name} is {given.default} here: leave it out.")


PRIVATE = Limits(MAX_PROMPT_CHARACTERS, MAX_NEW_TOKENS, free_tree=True, waiting_runs=64)
PUBLIC = Limits(
    4_000,
    256,
    free_tree=False,
    waiting_runs=16,
    opens_paths=False,
    attention_tokens=1_024,
    continued_text=2_048,
    compared_prompts=6,
    compared_tokens=96,
)
