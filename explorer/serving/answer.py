"""One streamed answer as it comes in: what each arrival brought, when, and how its drafts fared."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator

from pydantic import ValidationError

from explorer.records.serving import MAX_ARRIVALS, Answer
from explorer.serving.messages import Chunk, RequestSpeculation, refusal
from explorer.serving.stream import DONE


class UnfinishedError(Exception):
    """An answer ended before its end. The text says why, in words that follow a colon."""


class Reading:
    """Collects an answer, event by event. `began`: a piece of it has come."""

    def __init__(self, id: str, prompt: str, cancel: threading.Event) -> None:
        self._id, self._prompt, self.cancel = id, prompt, cancel
        self.begin(0.0)

    def begin(self, seconds: float) -> None:
        """Start the clock, for an answer that may take so long."""
        self._start, self._most = time.perf_counter(), seconds
        self._pieces: list[str] = []
        self._token_ids: list[list[int]] = []
        self._arrivals: list[float] = []
        self._prompt_ids: list[int] = []
        self._tokens: int | None = None
        self._speculation: RequestSpeculation | None = None
        self._finished = False

    @property
    def began(self) -> bool:
        """Whether a piece of the answer has come."""
        return bool(self._arrivals)

    def watched(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        """The same chunks. Raises UnfinishedError after a cancel and once they take too long."""
        for chunk in chunks:
            if self.cancel.is_set():
                raise UnfinishedError("it was cancelled")
            if time.perf_counter() - self._start > self._most:
                raise UnfinishedError(f"it took more than {self._most:.0f} seconds")
            yield chunk

    def take(self, event: str, model: str) -> bool:
        """Take in the next event; False after the last. Raises UnfinishedError."""
        if event == DONE:
            self._finished = True
            return False
        try:
            chunk = Chunk.model_validate_json(event)
        except ValidationError as error:
            raise UnfinishedError("the server sent something that is no message") from error
        if chunk.error is not None:
            raise UnfinishedError(f"the server said “{refusal(chunk.error) or 'error'}”")
        if chunk.model not in (None, model):
            raise UnfinishedError(f"another model answered ({chunk.model:.60})")
        self._add(chunk)
        return True

    def _add(self, chunk: Chunk) -> None:
        self._prompt_ids = chunk.prompt_token_ids or self._prompt_ids
        self._speculation = chunk.speculation or self._speculation
        if chunk.usage is not None:
            self._tokens = chunk.usage.completion_tokens
        for choice in chunk.choices[:1]:
            self._finished |= choice.finish_reason is not None
            if choice.delta.text or choice.token_ids:
                self._arrived(choice.delta.text, choice.token_ids or [])

    def _arrived(self, text: str, token_ids: list[int]) -> None:
        if len(self._arrivals) == MAX_ARRIVALS:
            raise UnfinishedError(f"it came in more than {MAX_ARRIVALS:,} pieces")
        self._pieces.append(text)
        self._token_ids.append(token_ids)
        self._arrivals.append(time.perf_counter() - self._start)

    def require_end(self) -> None:
        """Raise UnfinishedError unless the server ended the answer itself."""
        if not self._finished:
            raise UnfinishedError("the stream ended before the answer did")

    def answer(self, problem: str | None = None) -> Answer:
        """What has come. A server that does not count its tokens is taken to send one at a time."""
        last = self._speculation
        ids = self._token_ids if any(self._token_ids) else []
        tokens = sum(map(len, ids)) or self._tokens
        return Answer(
            id=self._id,
            prompt=self._prompt,
            pieces=self._pieces,
            token_ids=ids,
            arrivals=self._arrivals,
            prompt_ids=self._prompt_ids,
            tokens=len(self._pieces) if tokens is None else tokens,
            seconds=time.perf_counter() - self._start,
            speculation=last.speculation if last else None,
            accepted=(last.per_step_accepted or []) if last else [],
            problem=problem,
        )
