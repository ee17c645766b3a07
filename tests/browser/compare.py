"""The Compare page as a test sees it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

LOAD_MS, RUN_MS, QUICK_MS = 180_000, 120_000, 10_000
PAGE = "[...document.querySelectorAll('#mx-compare, #mx-compare *')].find(e => e.compare).compare"


class Compare:
    """A tab with the Compare page. `errors` and `dialogs` collect what went wrong."""

    def __init__(self, page, url: str) -> None:
        self.page = page
        self.errors: list[str] = []
        self.dialogs: list[str] = []
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("dialog", self._dialog)
        page.goto(f"{url}/compare")
        page.wait_for_selector(".cx-status")

    def ready(self) -> Compare:
        """Wait until the model is loaded."""
        return self.wait_for("is-empty", LOAD_MS)

    def wait_for(self, kind: str, timeout: int = RUN_MS) -> Compare:
        """Wait until the status line is of a kind: is-running, is-waiting, is-done, is-failed."""
        self.page.wait_for_selector(f".cx-status.{kind}", timeout=timeout)
        return self

    def ask(self, *prompts: str, tokens: int = 12, methods: tuple[str, ...] = ()) -> Compare:
        """Write prompts of one's own, choose methods (all, if none is named), and press Compare."""
        page = self.page
        page.check("input[name=cx-source][value=own]")
        page.fill(".cx-own textarea", "\n---\n".join(prompts))
        page.fill("#cx-tokens", str(tokens))
        if methods:
            for box in page.locator(".cx-methods input:enabled").all():
                box.set_checked(box.get_attribute("value") in methods)
        page.click(".cx-primary")
        return self

    def done(self) -> Compare:
        """Wait for the end."""
        return self.wait_for("is-done")

    @property
    def status(self) -> str:
        """The status line."""
        return self.page.inner_text(".cx-status p")

    def row(self, method: str) -> list[str]:
        """The cells of a method's row in the table, its name left out."""
        cells = self.page.locator(f".sx-table .cx-table tr[data-method='{method}'] td")
        return [text.replace("\n", " ") for text in cells.all_inner_texts()]

    def record(self, folder: Path) -> dict[str, Any]:
        """What the JSON button saves."""
        return json.loads(self.saved("JSON", folder))

    def saved(self, button: str, folder: Path) -> str:
        """The text of the file that a button saves."""
        with self.page.expect_download() as download:
            self.page.click(f".sx-table .sx-tools >> text={button}")
        path = folder / download.value.suggested_filename
        download.value.save_as(path)
        return path.read_bytes().decode()

    def _dialog(self, dialog) -> None:
        self.dialogs.append(dialog.message)
        dialog.dismiss()
