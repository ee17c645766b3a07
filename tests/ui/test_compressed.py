"""Documents travel compressed; streams and what Gradio compresses itself are left alone."""

from __future__ import annotations

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse, StreamingResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from explorer.ui.compressed import CompressedPages

DOCUMENT = "<p>the same again</p>" * 1000


def document(request):
    return PlainTextResponse(DOCUMENT, media_type="text/html")


def events(request):
    found = (f"data: {number} {'x' * 1000}\n\n" for number in range(3))
    return StreamingResponse(found, media_type="text/event-stream")


@pytest.fixture
def client():
    routes = [Route("/compare", document), Route("/main.js", document), Route("/events", events)]
    return TestClient(Starlette(routes=routes, middleware=[Middleware(CompressedPages)]))


def test_a_document_is_a_fraction_of_its_size(client):
    answer = client.get("/compare")
    assert answer.text == DOCUMENT
    assert int(answer.headers["content-length"]) < len(DOCUMENT) / 10
    plain = client.get("/compare", headers={"accept-encoding": "identity"})
    assert plain.text == DOCUMENT
    assert "content-encoding" not in plain.headers


def test_streams_come_piece_by_piece_and_files_stay_as_they_are(client):
    assert "content-encoding" not in client.get("/main.js").headers
    answer = client.get("/events")
    assert "content-encoding" not in answer.headers
    assert answer.text.count("data:") == 3
