"""A chat template is a program that came with a model: it gets a few seconds, as no page ends it.

Jinja's sandbox keeps it from files and bounds each `range`, but not loops within loops, nor a power
such as 9**9**9, which is one instruction that nothing can interrupt.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from types import FrameType
from typing import TYPE_CHECKING, Any

from jinja2 import Environment

from explorer.records.errors import ExplorerError

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

MOST_SECONDS = 5.0
COMPILED = "<template>"  # the file that Jinja names for a template's code


class _EndlessError(Exception):
    """The template's time is over."""


def rendered(
    tokenizer: PreTrainedTokenizerBase, messages: list[dict[str, str]], **more: Any
) -> str:
    """The messages as the tokenizer's chat template writes them.

    Raises ExplorerError for a template that does not end or might not, and whatever else it raises.
    """
    if _has_powers(str(tokenizer.chat_template)):
        raise ExplorerError(
            "The model's chat template computes powers, which may never end: use the raw prompt, "
            "or choose another copy of the model."
        )
    try:
        with _limited(MOST_SECONDS):
            return str(tokenizer.apply_chat_template(messages, tokenize=False, **more))
    except _EndlessError as error:
        raise ExplorerError(
            f"The model's chat template has not ended after {MOST_SECONDS:g} seconds: use the raw "
            "prompt, or choose another copy of the model."
        ) from error


@lru_cache(maxsize=8)
def _has_powers(template: str) -> bool:
    return any(token[1:] == ("operator", "**") for token in Environment().lex(template))


@contextmanager
def _limited(seconds: float) -> Iterator[None]:
    """Raise _EndlessError in Python code that takes longer, at a call or a template's next line."""
    end = time.monotonic() + seconds

    def watch(frame: FrameType, event: str, argument: object) -> Any:
        if time.monotonic() > end:
            raise _EndlessError
        return watch if frame.f_code.co_filename == COMPILED else None

    before = sys.gettrace()
    sys.settrace(watch)
    try:
        yield
    finally:
        sys.settrace(before)
