"""A lab that decodes a script: realistic events without a model."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import ClassVar

from explorer.measuring.race import interleave
from explorer.records.continuation import Continuation
from explorer.records.errors import ExplorerError
from explorer.records.events import Event, TraceBuilder
from explorer.records.methods import METHODS, PLAIN
from explorer.records.progress import Progress
from explorer.records.schema import Trace
from explorer.records.settings import DecodeSettings
from tests.ui.fake_run import scripted_lane

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

    The last token ends the text, unless the prompt asks for something endless. A lane of plain
    decoding writes `plain_text`, if there is one.
    """

    description = "SmolLM2-135M · int4 · CPU"
    method = "medusa"
    heads: ClassVar[dict] = {}
    context_length = 2_000
    read_bandwidth = 20.0
    notes = ("Runs on 2 threads.", "int4 is the fastest backend on this machine.")

    def __init__(self, text: str = TEXT, pace: float = 0.0, shapes: Sequence[int] = (1, 2, 3, 1)):
        self.text, self.pace, self.shapes = text, pace, shapes
        self.plain_text: str | None = None
        self.closed = 0
        self.lock = threading.Lock()

    def decode(
        self,
        prompt: str | Continuation,
        settings: DecodeSettings,
        cancel: threading.Event | None = None,
    ) -> Iterator[Event]:
        """One lane."""
        for _, event in self._lanes(prompt, [settings], cancel):
            yield event

    def compare(
        self,
        prompt: str,
        settings: DecodeSettings,
        methods: Sequence[str],
        cancel: threading.Event | None = None,
    ) -> Iterator[tuple[str, Event]]:
        """Any methods, a few steps of each in turn."""
        lanes = [settings.model_copy(update={"method": method}) for method in methods]
        for number, event in self._lanes(prompt, lanes, cancel):
            yield methods[number], event

    def race(
        self,
        prompt: str | Continuation,
        settings: DecodeSettings,
        cancel: threading.Event | None = None,
        against: str = PLAIN,
    ) -> Iterator[Event]:
        """Two lanes, a few steps of each in turn."""
        lanes = [settings, settings.model_copy(update={"method": against})]
        for number, event in self._lanes(prompt, lanes, cancel):
            yield event.model_copy(update={"lane": number})

    def continuation(self, trace: Trace) -> Continuation:
        """The end of a trace, to continue from."""
        return Continuation(trace.header, trace.new_token_ids)

    def _lanes(
        self,
        prompt: str | Continuation,
        lanes: Sequence[DecodeSettings],
        cancel: threading.Event | None,
    ) -> Iterator[tuple[int, Event]]:
        before = prompt if isinstance(prompt, Continuation) else None
        prompt = before.header.prompt if before else prompt
        if "explode" in prompt:
            raise RuntimeError("a bug")
        if "refuse" in prompt:
            raise ExplorerError("The tree <img src=x onerror=alert(1)> is too deep: use another.")
        for lane in lanes:
            if lane.method not in METHODS:
                raise ExplorerError(f"There is no method '{lane.method}'.")
        hostile = prompt[0] in "<$"
        text = prompt if hostile else self.text
        drafting = (1,) if hostile else self.shapes
        pace = {"quick": 0.0, "slow": 4 * self.pace}.get(prompt, self.pace)
        running = {}
        for number, lane in enumerate(lanes):
            plain = lane.method == PLAIN
            written, shapes = (self.plain_text or text, (0,)) if plain else (text, drafting)
            running[number] = scripted_lane(written, shapes, prompt, lane, before)
        with self.lock:
            try:
                for number, event in interleave(running):
                    yield number, event
                    time.sleep(pace if number == 0 else 0)
                    if cancel is not None and cancel.is_set():
                        return
            finally:
                self.closed += 1

    def trace(self, prompt: str = "What is a binary search?", **settings: object) -> Trace:
        """The trace of a whole race."""
        builder = TraceBuilder()
        for event in self.race(prompt, DecodeSettings(**settings)):
            builder.add(event)
        return builder.trace()


class HeldLoad:
    """A load of a FakeLab that says how far it is, and ends once `gate` is set."""

    def __init__(self) -> None:
        self.gate = threading.Event()

    def __call__(self, progress: Progress) -> FakeLab:
        """Load, on the worker's thread."""
        progress("Downloading", 0.5)
        self.gate.wait(120)
        return FakeLab()


def wait_for(condition: Callable[[], bool], seconds: float = 5.0) -> None:
    """Until the condition holds; fails if it does not in time."""
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.01)
    assert condition()
