"""Learn looks at a visitor's own run: the last one, or that of a prompt of one's own."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from explorer.learn.chapter import Own
from explorer.learn.chapters import chapter_of
from explorer.records.errors import ExplorerError
from explorer.records.files import parse_trace
from explorer.ui.class_session import OWN_HEADER
from explorer.ui.runs import in_turn, sentence
from explorer.ui.worker import ModelWorker

if TYPE_CHECKING:
    from explorer.lab.lab import Lab
    from explorer.records.schema import Trace

MAX_BYTES = 16 * 2**20  # of a run that is sent here, as a file
TRACE = "application/gzip"
TOO_LARGE = "Your last run is too large to be looked at here: make a shorter one."
NOT_HERE = "Own runs are looked at on one's own machine only: here a recorded one is shown."


def _run(lab: Lab, prompt: str, settings: Mapping[str, Any]) -> Trace:
    return lab.run(prompt, **settings)


class OwnRuns:
    """Answers for a chapter what it shows of a run. `own`: the app runs for its own user.

    `run` is lab.run, but for tests.
    """

    def __init__(
        self,
        worker: ModelWorker,
        own: bool,
        run: Callable[[Lab, str, Mapping[str, Any]], Trace] = _run,
    ) -> None:
        self._worker, self._own, self._run = worker, own, run

    def answer(self, key: str, body: bytes, kind: str) -> tuple[int, str]:
        """HTTP status, and what the chapter shows as JSON, or a sentence.

        `body` is a run as a file, if `kind` says so, or else {"prompt": …} to run.
        """
        chapter = chapter_of(key)
        if chapter is None or chapter.own is None:
            return 404, "This chapter looks at no run."
        if not self._own:
            return 403, NOT_HERE
        try:
            if kind == TRACE:
                return 200, _shown(chapter.own, parse_trace(body, "Your last run"), ran=False)
            trace = self._of_prompt(chapter.own, body)
            return 200, _shown(chapter.own, trace, ran=True)
        except Exception as error:
            return (400 if isinstance(error, ExplorerError) else 500), sentence(error)

    def _of_prompt(self, own: Own, body: bytes) -> Trace:
        try:
            prompt = json.loads(body)["prompt"]
        except (ValueError, KeyError, TypeError):
            prompt = None
        if not isinstance(prompt, str) or not prompt.strip():
            raise ExplorerError("The prompt is empty: write something.")
        return in_turn(self._worker, lambda lab, _: self._run(lab, prompt, own.settings))


def _shown(own: Own, trace: Trace, ran: bool) -> str:
    found = own.shown(trace)
    whole = {"data": found.data, "step": found.step, "run": None}
    text = json.dumps(whole, allow_nan=False)
    # The run is long: it is written once, by pydantic.
    return text[: -len("null}")] + trace.model_dump_json() + "}" if ran else text


def own_run_routes(runs: OwnRuns) -> list[BaseRoute]:
    """What the page asks of a run of its visitor's."""

    async def ask(request: Request) -> Response:
        if OWN_HEADER not in request.headers:
            return Response("This is asked by the page alone.", 400)
        if int(request.headers.get("content-length", MAX_BYTES + 1)) > MAX_BYTES:
            return Response(TOO_LARGE, 413)
        kind, body = request.headers.get("content-type", ""), await request.body()
        status, text = await run_in_threadpool(runs.answer, request.path_params["key"], body, kind)
        media = "application/json" if status == 200 else "text/plain"
        return Response(text, status, media_type=media, headers={"cache-control": "no-cache"})

    return [Route("/learn-live/own/{key}", ask, methods=["POST"])]
