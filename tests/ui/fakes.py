"""A lab that decodes a script: realistic events without a model."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence

from explorer.records.continuation import Continuation
from explorer.records.errors import ExplorerError
from explorer.records.events import Event, PlainRecorded, PlainStarted, TraceBuilder
from explorer.records.schema import Trace
from explorer.records.settings import DecodeSettings
from tests.ui.fake_run import scripted_run

TEXT = (
    "A binary search finds a value in a sorted list 🔎. It looks at the middle element first:\n\n"
    "1. If it is the value, the search ends.\n"
    "2. If the value is smaller, the left half is searched.\n"
    "3. Otherwise, the right half is searched.\n\n"
    "```python\ndef binary_search(items, target):\n    low, high = 0, len(items) - 1\n"
    "    while low <= high:\n        middle = (low + high) // 2\n"
    "        if items[middle] == target:\n            return middle\n```\n"
)


class FakeLab:
    """Decodes `text`, or the prompt itself if that is hostile; a step waits `pace` seconds.

    The last token ends the text, unless the prompt asks for something endless.
    """

    description = "SmolLM2-135M · int4 · CPU"
    method = "medusa"
    context_length = 2_000
    notes = ("Runs on 2 threads.", "int4 is the fastest backend on this machine.")

    def __init__(self, text: str = TEXT, pace: float = 0.0, shapes: Sequence[int] = (1, 2, 3, 1)):
        self.text, self.pace, self.shapes = text, pace, shapes
        self.closed = 0
        self.lock = threading.Lock()

    def decode(
        self, prompt: str, settings: DecodeSettings, cancel: threading.Event | None = None
    ) -> Iterator[Event]:
        """The speculative lane alone."""
        for event in self.race(prompt, settings, cancel):
            if not isinstance(event, PlainStarted | PlainRecorded):
                yield event

    def compare(
        self,
        prompt: str,
        settings: DecodeSettings,
        methods: Sequence[str],
        cancel: threading.Event | None = None,
    ) -> Iterator[tuple[str, Event]]:
        """One method after the other, plain with bare roots."""
        for method in methods:
            lane = FakeLab(self.text, self.pace, (0,) if method == "plain" else self.shapes)
            asked = settings.model_copy(update={"method": method})
            yield from ((method, event) for event in lane.decode(prompt, asked, cancel))

    def race(
        self,
        prompt: str | Continuation,
        settings: DecodeSettings,
        cancel: threading.Event | None = None,
    ) -> Iterator[Event]:
        """Both lanes, a step of each in turn."""
        before = prompt if isinstance(prompt, Continuation) else None
        prompt = before.header.prompt if before else prompt
        if "explode" in prompt:
            raise RuntimeError("a bug")
        if "refuse" in prompt:
            raise ExplorerError("The tree <img src=x onerror=alert(1)> is too deep: use another.")
        hostile = prompt[0] in "<$"
        text = prompt if hostile else self.text
        shapes = (1,) if hostile else self.shapes
        pace = {"quick": 0.0, "slow": 4 * self.pace}.get(prompt, self.pace)
        with self.lock:
            try:
                yield from scripted_run(text, pace, shapes, prompt, settings, cancel, before)
            finally:
                self.closed += 1

    def trace(self, prompt: str = "What is a binary search?", **settings: object) -> Trace:
        """The trace of a whole race."""
        builder = TraceBuilder()
        for event in self.race(prompt, DecodeSettings(**settings)):
            builder.add(event)
        return builder.trace()
