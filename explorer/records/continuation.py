"""What a continued run starts from: the tokens of the runs before it, verbatim."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from explorer.records.schema import Header


@dataclass(frozen=True)
class Continuation:
    """The text so far: `header` of the run that wrote last, and the tokens that it wrote.

    Token ids and no text: text would be split into other tokens.
    """

    header: Header
    new_token_ids: Sequence[int]

    @property
    def ids(self) -> list[int]:
        """All token ids, from the first of the prompt to the last one written."""
        return [*self.header.prompt_ids, *self.new_token_ids]

    @property
    def continued_tokens(self) -> int:
        """How many of `ids`, at the end, the model wrote: in this run and in those before it."""
        return self.header.continued_tokens + len(self.new_token_ids)

    def obstacle(self, context_length: int) -> str | None:
        """Why the text cannot be continued, in a sentence; None where it can."""
        if not self.new_token_ids:
            return "There is nothing to continue: the run wrote no token."
        if self.new_token_ids[-1] in self.header.eos_ids:
            return "There is nothing to continue: the model has ended its text."
        if len(self.ids) >= context_length:
            return (
                f"There is no room to continue: the text has {len(self.ids):,} tokens, and the "
                f"model reads {context_length:,} in all."
            )
        return None
