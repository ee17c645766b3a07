"""The step explorer as a test sees it, alone on a page or inside the app."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from explorer.records.files import dump_trace, read_trace
from explorer.records.schema import Trace
from explorer.records.step import Step

QUICK_MS = 10_000
EXPLORER = (
    "(window.explorer ?? document.querySelector('#mx-explorer .sx-here').parentElement.explorer)"
)


class Steps:
    """The step explorer in a Playwright page."""

    def __init__(self, page) -> None:
        self.page = page

    def open(self, trace: Trace, name: str = "run.json.gz") -> Steps:
        """Open a trace as a reader would: by choosing its file."""
        return self.open_bytes(dump_trace(trace), name).wait("explorer.view !== null")

    def open_bytes(self, data: bytes, name: str = "run.json.gz") -> Steps:
        """Choose a file with these bytes."""
        file = {"name": name, "mimeType": "application/gzip", "buffer": data}
        self.page.set_input_files(".sx-topbar input[type=file]", files=[file])
        return self

    def wait(self, condition: str, timeout: int = QUICK_MS) -> Steps:
        """Wait until a JavaScript condition on `explorer` holds."""
        self.page.wait_for_function(
            f"() => {{ const explorer = {EXPLORER}; return explorer && ({condition}); }}",
            timeout=timeout,
        )
        return self

    def ask(self, expression: str) -> Any:
        """The value of a JavaScript expression on `explorer`, after what waits was drawn."""
        return self.page.evaluate(
            f"() => {{ const explorer = {EXPLORER}; explorer.store.flush(); return {expression}; }}"
        )

    def show(self, number: int) -> Steps:
        """Look at a step (1-based)."""
        self.ask(f"explorer.show({number - 1})")
        self.ask("null")
        return self

    def press(self, *keys: str) -> Steps:
        """Press keys, one after the other, wherever the focus is."""
        for key in keys:
            self.page.keyboard.press(key)
        self.ask("null")
        return self

    @property
    def step(self) -> int:
        """The step on view, 1-based."""
        return self.ask("explorer.state.step + 1")

    @property
    def problem(self) -> str:
        """The sentence that says what went wrong."""
        self.wait("explorer.state.problem !== null")
        return self.text(".sx-caption")

    def state(self, key: str) -> Any:
        """A part of what is on view."""
        return self.ask(f"explorer.state.{key}")

    def text(self, selector: str) -> str:
        """What a reader sees there."""
        self.ask("null")
        return self.page.inner_text(selector)

    def texts(self, selector: str) -> list[str]:
        """The texts of all elements there."""
        self.ask("null")
        return self.page.locator(selector).all_text_contents()

    def count(self, selector: str) -> int:
        """How many elements there are."""
        self.ask("null")
        return self.page.locator(selector).count()

    def lane(self, name: str) -> str:
        """A lane's text, without the end mark."""
        self.ask("null")
        return self.page.evaluate(
            "s => { const lane = document.querySelector(s).cloneNode(true);"
            " lane.querySelectorAll('.sx-eos').forEach(end => end.remove());"
            " return lane.textContent; }",
            f".sx-lane.is-{name}",
        )

    def choose(self, selector: str, value: str) -> None:
        """Choose from a list."""
        self.page.select_option(selector, value)

    def download(self, act, folder: Path) -> Path:
        """The file that comes from doing something."""
        with self.page.expect_download() as download:
            act()
        path = folder / download.value.suggested_filename
        download.value.save_as(path)
        return path

    def save(self, folder: Path) -> Trace:
        """Press save and read the file."""
        button = ".sx-topbar >> text=/^Save$/"
        return read_trace(self.download(lambda: self.page.click(button), folder))


def full_step(trace: Trace, number: int = 1) -> tuple[Step, int]:
    """A step (and its number) at least that late with accepted, rejected and pruned rows."""
    for step in trace.steps[number - 1 :]:
        if {"accepted", "rejected", "pruned"} <= set(step.verdicts):
            return step, step.index + 1
    raise AssertionError("no such step")
