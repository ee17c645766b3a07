"""A small OpenAI-compatible server that can misbehave; real responses come from recordings."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

WORDS = ["One", " two", " three", " four"]
ACCEPTED = [2, 0, 1]  # a step's accepted drafts; the first piece comes from the prompt's pass
K = 3


@dataclass
class Fake:
    """How the server behaves. `faults` are taken one by one, then it answers well."""

    model: str = "fake"
    words: list[str] = field(default_factory=lambda: list(WORDS))
    pause: float = 0.0  # before each piece
    faults: list[int] = field(default_factory=list)  # statuses
    answering: str | None = None  # the model that it says answered
    breaks_after: int | None = None  # pieces, then the connection ends
    garbage: bool = False
    ids: list[int] | None = None  # token ids of every piece
    drips: str | None = None  # the page that comes byte by byte and never ends
    trickles: bool = False  # an answer of comments without end
    hesitates: bool = False  # an answer whose header never ends
    endless: bool = False
    refuses: object = None  # body of a 400
    error_event: object = None
    counts: bool = True  # counters
    reports: bool = True  # metrics in the response
    models: object = None  # body of /v1/models
    version: str | None = "0.32.0"
    steps: int = 0
    requests: int = 0
    most_at_once: int = 0
    now: int = 0
    bodies: list[dict] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def page(self) -> str:
        """Its Prometheus page."""
        if not self.counts:
            return "# HELP nothing of use\nprocess_cpu_seconds_total 1.0\n"
        at = [self.steps * n // 3 for n in (2, 1, 0)]
        name = f'model_name="{self.model}",engine="0"'
        lines = [
            "# TYPE vllm:spec_decode_num_drafts counter",
            f"vllm:spec_decode_num_drafts_total{{{name}}} {float(self.steps)}",
            f"vllm:spec_decode_num_drafts_created{{{name}}} 1.7e+09",
            f"vllm:spec_decode_num_draft_tokens_total{{{name}}} {float(K * self.steps)}",
            f"vllm:spec_decode_num_accepted_tokens_total{{{name}}} {float(sum(at))}",
        ]
        lines += [
            f'vllm:spec_decode_num_accepted_tokens_per_pos_total{{{name},position="{i}"}} {n}'
            for i, n in enumerate(at)
        ]
        return "\n".join(lines) + "\n"


@contextlib.contextmanager
def running(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    """The address of a server with this handler, as long as it is entered."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def serving(fake: Fake) -> contextlib.AbstractContextManager[str]:
    """Its address, as long as it is entered."""
    return running(type("Handler", (_Handler,), {"fake": fake}))


class _Handler(BaseHTTPRequestHandler):
    fake: Fake

    def do_GET(self) -> None:
        fake = self.fake
        if self.path == fake.drips:
            self._drip()
        elif self.path == "/v1/models":
            self._json(200, fake.models or {"object": "list", "data": [{"id": fake.model}]})
        elif self.path == "/version" and fake.version:
            self._json(200, {"version": fake.version})
        elif self.path == "/metrics":
            self._send(200, fake.page().encode(), "text/plain")
        else:
            self._json(404, {"detail": "Not Found"})

    def _drip(self) -> None:
        self.send_response(200)
        self.send_header("content-length", "1000000")
        self.end_headers()
        with contextlib.suppress(OSError):  # the client has left
            while True:
                self.wfile.write(b" ")
                time.sleep(0.02)

    def do_POST(self) -> None:
        fake = self.fake
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        with fake.lock:
            fake.requests += 1
            fake.bodies.append(body)
            fault = fake.faults.pop(0) if fake.faults else None
            fake.now += 1
            fake.most_at_once = max(fake.most_at_once, fake.now)
        with contextlib.suppress(OSError):  # the client has left
            self._answer(body, fault)

    def _answer(self, body: dict, fault: int | None) -> None:
        fake = self.fake
        if fault is not None:
            self._json(fault, {"error": {"message": "too much to do"}})
        elif fake.refuses is not None:
            self._json(400, fake.refuses)
        elif body["model"] != fake.model:
            self._json(404, {"error": {"message": f"The model `{body['model']}` does not exist."}})
        else:
            self._stream(body)

    def _stream(self, body: dict) -> None:
        fake = self.fake
        while fake.hesitates:
            self.wfile.write(b"H")
            time.sleep(0.02)
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        self.wfile.write(b": a comment\n\n")
        while fake.trickles:
            self.wfile.write(b":")
            time.sleep(0.02)
        for number, word in enumerate(fake.words):
            if number == fake.breaks_after:
                return
            time.sleep(fake.pause)
            if fake.garbage:
                self.wfile.write(b"data: {not json\n\n")
                continue
            if fake.error_event is not None:
                self._event({"error": fake.error_event})
                continue
            ids = [
                10 * number + n for n in range(1 + ([0, *ACCEPTED][number] if number < 4 else 0))
            ]
            choice = {"index": 0, "delta": {"content": word}}
            if body.get("return_token_ids"):
                choice["token_ids"] = ids if fake.ids is None else fake.ids
            self._event({"model": fake.answering or fake.model, "choices": [choice]})
        while fake.endless:
            self.wfile.write(b"data: " + b"x" * 65536)
        last = {"index": 0, "delta": {}, "finish_reason": "stop"}
        self._event({"model": fake.model, "choices": [last]})
        self._event(self._usage())
        with fake.lock:  # before the client hears the end, and asks again
            fake.steps += len(ACCEPTED)
            fake.now -= 1
        self.wfile.write(b"data: [DONE]\n\n")

    def _usage(self) -> dict:
        found = {
            "acceptance_histogram": [1, 1, 1, 0],
            "num_draft_tokens": 9,
            "per_step_accepted": ACCEPTED,
        }
        return {
            "model": self.fake.model,
            "choices": [],
            "usage": {"prompt_tokens": 5, "completion_tokens": 7},
            "metrics": {"speculative_decoding": found if self.fake.reports else None},
        }

    def _event(self, message: dict) -> None:
        self.wfile.write(b"data: " + json.dumps(message).encode() + b"\n\n")
        self.wfile.flush()

    def _json(self, status: int, body: object) -> None:
        self._send(status, json.dumps(body).encode(), "application/json")

    def _send(self, status: int, body: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        pass
