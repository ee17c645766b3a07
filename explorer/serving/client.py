"""A client of an OpenAI-compatible server: what it serves, one streamed answer, its counters.

Every call ends: connecting, a silence, a whole page and a whole answer have their limits. A call
is repeated where the server was not reached or was busy, never after the first piece of an answer
has come.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import TypeVar

import httpx
from pydantic import ValidationError

from explorer.records.errors import ExplorerError
from explorer.records.serving import Answer, ServerInfo
from explorer.serving.address import server_address
from explorer.serving.answer import Reading, UnfinishedError
from explorer.serving.counters import Counters, read_counters
from explorer.serving.deadline import Deadline, LateError
from explorer.serving.messages import ModelList, ServerSettings, refusal
from explorer.serving.stream import TooLongError, events, limited

KEY_VARIABLE = "SERVING_API_KEY"
BUSY = (429, 500, 502, 503, 504)
SETTINGS = "/server_info?config_format=json"
GRACE = 1.0  # second
MAX_PAGE = 8 * 2**20  # bytes of a page that is no answer
Result = TypeVar("Result")


@dataclass(frozen=True)
class Patience:
    """Seconds to wait: for a connection, for the next bytes, for all the pages of a check, for a
    whole answer; and retries."""

    connect: float = 5.0
    silence: float = 60.0
    pages: float = 14.0
    answer: float = 600.0
    retries: int = 2
    pause: float = 0.5  # before the first repetition; each further one waits twice as long


@dataclass(frozen=True)
class Ask:
    """One request. Greedy, so that a server with speculation writes what one without does."""

    id: str
    prompt: str
    max_tokens: int


class RefusedError(Exception):
    """The server did not give what it was asked. The text follows the server's name."""


class BusyError(RefusedError):
    """It could not be reached or would not answer now: asking again may help."""


class ServerClient:
    """One server. Safe to use from several threads; close it at the end (`with`)."""

    def __init__(self, address: str, patience: Patience | None = None) -> None:
        """Opens nothing yet. Raises ExplorerError for what is no address."""
        self.address = server_address(address)
        self.patience = patience or Patience()
        key = os.environ.get(KEY_VARIABLE)
        self._http = httpx.Client(
            timeout=httpx.Timeout(self.patience.silence, connect=self.patience.connect),
            limits=httpx.Limits(max_connections=None),
            headers={"Authorization": f"Bearer {key}"} if key else {},
        )

    def __enter__(self) -> ServerClient:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._http.close()

    def info(self) -> ServerInfo:
        """What the server is and offers. Raises ExplorerError where it is none, or not there."""
        end = Deadline(self.patience.pages)
        try:
            page = self._repeated(lambda: self._page("/v1/models", end))
            models = ModelList.model_validate_json(page)
        except ValidationError as error:
            raise ExplorerError(
                f"{self.address} answers, but lists no models under /v1/models: it is no "
                "OpenAI-compatible server."
            ) from error
        except RefusedError as error:
            raise ExplorerError(f"{self.address} {error}: check address and server.") from error
        return ServerInfo(
            address=self.address,
            engine=self._engine(end),
            models=[entry.id for entry in models.data],
            counts_drafts=self._counters(None, end) is not None,
            method=self._method(end),
        )

    def _engine(self, end: Deadline) -> str | None:
        """The version of vLLM; other servers have no such page."""
        try:
            found = httpx.Response(200, content=self._page("/version", end)).json()
            return f"vLLM {found['version']:.40}"
        except (RefusedError, ValueError, KeyError, TypeError, RecursionError):
            return None

    def _method(self, end: Deadline) -> str | None:
        """How the server drafts: vLLM reports its settings where VLLM_SERVER_DEV_MODE is 1."""
        try:
            found = ServerSettings.model_validate_json(self._page(SETTINGS, end))
        except (RefusedError, ValidationError):
            return None
        return found.vllm_config.speculative_config and found.vllm_config.speculative_config.method

    def counters(self, model: str | None = None) -> Counters | None:
        """The server's counters now; None where it has none, or does not answer."""
        return self._counters(model, Deadline(self.patience.pages))

    def _counters(self, model: str | None, end: Deadline) -> Counters | None:
        try:
            page = self._page("/metrics", end).decode("utf-8", "replace")
        except RefusedError:
            return None
        return read_counters(page, model)

    def answer(
        self, model: str, ask: Ask, cancel: threading.Event | None = None, token_ids: bool = False
    ) -> Answer:
        """The answer to one request; what went wrong is its `problem`, in a sentence.

        `token_ids`: ask for the tokens' numbers too, which vLLM knows how to give.
        """
        reading = Reading(ask.id, ask.prompt, cancel or threading.Event())
        body = {
            "model": model,
            "messages": [{"role": "user", "content": ask.prompt}],
            "max_tokens": ask.max_tokens,
            "temperature": 0,
            "stream": True,
            "stream_options": {"include_usage": True},
        } | ({"return_token_ids": True} if token_ids else {})
        try:
            self._repeated(lambda: self._stream(body, reading), reading)
            return reading.answer()
        except UnfinishedError as error:
            return reading.answer(f"The answer broke off: {error}.")
        except RefusedError as error:
            return reading.answer(f"The server {error}.")

    def _stream(self, body: dict, reading: Reading) -> None:
        """Read one answer. Raises BusyError before its first piece, UnfinishedError after."""
        most = self.patience.answer
        try:  # what has begun to come ends by itself, and keeps what has come
            Deadline(most + GRACE).wait_for(lambda: self._read(body, reading))
        except LateError as error:
            raise UnfinishedError(f"it took more than {most:.0f} seconds") from error

    def _read(self, body: dict, reading: Reading) -> None:
        url = f"{self.address}/v1/chat/completions"
        reading.begin(self.patience.answer)
        try:
            with self._http.stream("POST", url, json=body) as got:
                chunks = reading.watched(got.iter_bytes())
                if got.status_code != 200:
                    page = b"".join(limited(chunks, MAX_PAGE))
                    raise self._refused(httpx.Response(got.status_code, content=page))
                for event in events(limited(chunks)):
                    if not reading.take(event, body["model"]):
                        break
            reading.require_end()
        except TooLongError as error:
            raise UnfinishedError(f"the server sent {error}") from error
        except httpx.HTTPError as error:
            if reading.began:
                raise UnfinishedError(_failure(error)) from error
            raise BusyError(_failure(error)) from error

    def _page(self, path: str, end: Deadline) -> bytes:
        """A page of the server. Raises RefusedError."""
        try:
            got = end.wait_for(lambda: self._whole(f"{self.address}{path}"))
        except LateError as error:
            raise RefusedError(f"sent no whole page in {end.seconds:.0f} seconds") from error
        except TooLongError as error:
            raise RefusedError(f"sent {error} for a page") from error
        except httpx.HTTPError as error:
            raise BusyError(_failure(error)) from error
        if got.status_code != 200:
            raise self._refused(got)
        return got.content

    def _whole(self, url: str) -> httpx.Response:
        with self._http.stream("GET", url) as got:
            page = b"".join(limited(got.iter_bytes(), MAX_PAGE))
        return httpx.Response(got.status_code, content=page)

    def _refused(self, response: httpx.Response) -> RefusedError:
        try:
            words = refusal(response.json())
        except (ValueError, RecursionError):
            words = ""
        said = f"answered {response.status_code}" + (f", “{words}”" if words else "")
        return BusyError(said) if response.status_code in BUSY else RefusedError(said)

    def _repeated(self, call: Callable[[], Result], reading: Reading | None = None) -> Result:
        """Call, and again while the server is busy and nothing has come yet."""
        for turn in range(self.patience.retries):
            try:
                return call()
            except BusyError:
                pause = self.patience.pause * 2**turn
                if reading is None:
                    time.sleep(pause)
                elif reading.cancel.wait(pause):
                    break
        return call()


def _failure(error: httpx.HTTPError) -> str:
    """Why a connection failed, in words that follow the server's name."""
    if isinstance(error, httpx.ConnectTimeout | httpx.ConnectError):
        return "cannot be reached"
    if isinstance(error, httpx.TimeoutException):
        return "fell silent"
    return f"broke the connection ({type(error).__name__})"
