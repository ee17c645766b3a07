"""The Explore page as a test sees it."""

from __future__ import annotations

from urllib.parse import urlsplit

from tests.browser.steps import Steps

LOAD_MS, RUN_MS, QUICK_MS = 180_000, 60_000, 10_000


class Explore(Steps):
    """A tab with the Explore page. `errors` and `hosts` collect what went wrong or outside."""

    def __init__(self, page, url: str) -> None:
        super().__init__(page)
        self.errors: list[str] = []
        self.hosts: set[str] = set()
        self.dialogs: list[str] = []
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("dialog", self._dialog)
        page.on("request", lambda request: self.hosts.add(urlsplit(request.url).netloc))
        page.goto(url)
        page.wait_for_selector("#mx-run")
        page.wait_for_selector(".sx-lanes")

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

    def choose_setting(self, name: str, choice: str) -> None:
        """Pick one of a setting's choices; the list is filtered some time after the typing."""
        field = f"#mx-{name} input"
        self.open_settings()
        self.page.fill(field, choice)
        self.page.get_by_role("option", name=choice, exact=True).click()
        self.page.wait_for_function(
            "([field, choice]) => document.querySelector(field).value === choice",
            arg=[field, choice],
        )

    def done(self) -> Explore:
        """Wait for the end of the run, and for all of it to have come."""
        self.wait_for_status("Done", RUN_MS)
        self.wait("!explorer.state.live && explorer.trace.steps.length > 0")
        return self

    def wait_for_status(self, text: str, timeout: int = QUICK_MS) -> None:
        """Wait until the status line holds a text."""
        self.page.wait_for_function(
            "text => document.querySelector('.mx-status')?.textContent.includes(text)",
            arg=text,
            timeout=timeout,
        )

    def wait_until(self, expression: str, timeout: int = QUICK_MS) -> None:
        """Wait until a JavaScript expression holds."""
        self.page.wait_for_function(f"() => {expression}", timeout=timeout)

    def _dialog(self, dialog) -> None:
        self.dialogs.append(dialog.message)
        dialog.dismiss()
