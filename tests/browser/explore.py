"""The Explore page as a test sees it."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

from explorer.tracing.files import read_trace
from explorer.tracing.schema import Trace

LOAD_MS, RUN_MS, QUICK_MS = 60_000, 60_000, 8_000


class Explore:
    """A tab with the Explore page. `errors` and `hosts` collect what went wrong or outside."""

    def __init__(self, page, url: str) -> None:
        self.page = page
        self.errors: list[str] = []
        self.hosts: set[str] = set()
        self.dialogs: list[str] = []
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("dialog", self._dialog)
        page.on("request", lambda request: self.hosts.add(urlsplit(request.url).netloc))
        page.goto(url)
        page.wait_for_selector("#mx-run")

    def ready(self) -> Explore:
        """Wait until the model is loaded."""
        self.wait_for_status("Ready", LOAD_MS)
        return self

    def run(self, prompt: str | None = None, new_tokens: int | None = None) -> Explore:
        """Press Run, after changing what is given."""
        if prompt is not None:
            self.page.fill("#mx-prompt textarea", prompt)
        if new_tokens is not None:
            self.open_settings()
            self.page.fill("#mx-new-tokens input[type=number]", str(new_tokens))
            self.page.press("#mx-new-tokens input[type=number]", "Tab")
        self.page.click("#mx-run")
        return self

    def open_settings(self) -> None:
        """Show the settings, if they are folded away."""
        if not self.page.is_visible("#mx-new-tokens"):
            self.page.click("#mx-settings-button")
            self.page.wait_for_selector("#mx-new-tokens")

    def done(self) -> Explore:
        """Wait for the end of the run."""
        self.wait_for_status("Done", RUN_MS)
        return self

    def wait_for_status(self, text: str, timeout: int = QUICK_MS) -> None:
        """Wait until the status line holds a text."""
        self._wait(
            "text => document.querySelector('.mx-status')?.textContent.includes(text)",
            text,
            timeout,
        )

    def wait_for_lane(self, text: str) -> None:
        """Wait until the Medusa lane holds a text (and perhaps an end mark)."""
        self._wait(
            "text => document.querySelector('#mx-medusa-text')?.textContent.trim()"
            ".replace(/end$/, '') === text",
            text,
            RUN_MS,
        )

    def wait_for_step(self, number: int) -> None:
        """Wait until a step (1-based) is on view, its tree drawn."""
        self._wait(
            "start => document.querySelector('.mx-step-title h2')?.textContent.startsWith(start)",
            f"Step {number} of",
        )
        self._wait("() => document.querySelector('#mx-tree .main-svg') !== null", None)

    def wait_until(self, expression: str, timeout: int = QUICK_MS) -> None:
        """Wait until a JavaScript expression holds."""
        self._wait(f"() => {expression}", None, timeout)

    def text(self, selector: str) -> str:
        """What a reader sees there."""
        return self.page.inner_text(selector)

    def lane(self, name: str) -> str:
        """A lane's text, without the end mark."""
        return self.page.evaluate(
            "s => { const lane = document.querySelector(s).cloneNode(true);"
            " lane.querySelectorAll('.mx-end').forEach(end => end.remove());"
            " return lane.textContent; }",
            f"#mx-{name}-text .mx-text",
        )

    def steps(self) -> tuple[int, int]:
        """The step on view and how many there are."""
        words = self.text(".mx-step-title h2").replace("\u202f", "").split()
        return int(words[1]), int(words[3])

    def seek(self, number: int) -> None:
        """Move the slider to a step, as a hand would: the thumb follows the keys."""
        slider = self.page.locator("#mx-slider input[type=range]")
        slider.focus()
        slider.fill(str(number))
        self.wait_for_step(number)

    def tree_nodes(self) -> int:
        """Markers in the tree figure, the bonus token's and the ring's not counted."""
        return self.page.evaluate(
            "() => [...document.querySelector('#mx-tree .js-plotly-plot').data]"
            ".filter(t => t.mode === 'markers+text' && !t.name.startsWith('bonus'))"
            ".reduce((sum, t) => sum + t.x.length, 0)"
        )

    def choose_node(self, row: int) -> None:
        """Choose a node by its place in the list."""
        self.page.click("#mx-node-choice input")
        self.page.click(f'ul[role=listbox] li[data-index="{row}"]')
        self.wait_until("document.querySelector('#mx-node .mx-node') !== null")

    def save(self, folder: Path) -> Trace:
        """Press Save trace and read the file."""
        with self.page.expect_download() as download:
            self.page.click("#mx-save")
        path = folder / download.value.suggested_filename
        download.value.save_as(path)
        return read_trace(path)

    def _dialog(self, dialog) -> None:
        self.dialogs.append(dialog.message)
        dialog.dismiss()

    def _wait(self, function: str, argument: object, timeout: int = QUICK_MS) -> None:
        self.page.wait_for_function(function, arg=argument, timeout=timeout)
