"""Refuses every call that names a file.

Gradio fetches the path or URL of whatever looks like its FileData in a call's data, for any
component, before a handler sees it. This app takes no files, so it refuses such a call.
"""

from __future__ import annotations

import json

from gradio_client.utils import is_file_obj_with_meta
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

REFUSAL = "Files and addresses of files are not accepted here: give the text itself."


class NoFiles:
    """ASGI middleware over the whole app."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check the data of a call before passing it on."""
        if scope["type"] == "http" and scope["method"] == "POST":
            request = Request(scope, receive)
            if not request.headers.get("content-type", "").startswith("multipart/form-data"):
                body = await request.body()
                if names_a_file(body):
                    await JSONResponse({"detail": REFUSAL}, 400)(scope, receive, send)
                    return
                receive = _replayed(body, receive)
        await self.app(scope, receive, send)


def names_a_file(body: bytes) -> bool:
    """Whether JSON holds something that Gradio treats as a file, at any depth."""
    try:
        left = [json.loads(body)]
    except (ValueError, RecursionError):  # the next reader refuses it
        return False
    while left:
        value = left.pop()
        if isinstance(value, dict):
            if isinstance(value.get("meta"), dict) and is_file_obj_with_meta(value):
                return True
            left.extend(value.values())
        elif isinstance(value, list):
            left.extend(value)
    return False


def _replayed(body: bytes, receive: Receive) -> Receive:
    """A `receive` that gives the body that was read, then the messages after it."""
    first: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Message:
        return first.pop() if first else await receive()

    return again
