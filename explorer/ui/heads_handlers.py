"""The Heads page's requests to the server: examine the heads, or show a recorded checkup."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import wait
from typing import Any

import gradio as gr

from explorer.analysis.checkup import Checkup
from explorer.figures.checkup import (
    accuracy_figure,
    confidence_figure,
    kinds_figure,
    ledger_figure,
)
from explorer.figures.checkup_html import facts_html, findings_html, wrong_html
from explorer.records.errors import ExplorerError
from explorer.records.paths import ASSETS
from explorer.records.prompts import BUILT_IN, Prompt, read_prompts
from explorer.records.settings import DecodeSettings
from explorer.ui import panels, updates
from explorer.ui.heads_page import HeadsPage, build_heads_page
from explorer.ui.limits import Limits
from explorer.ui.parts import MANY, QUIET
from explorer.ui.runs import POLL, RUNS, sentence, until_turn
from explorer.ui.updates import Update
from explorer.ui.worker import ModelWorker, Ticket

RECORDED = ASSETS / "checkups" / "default.json"
PROMPTS, TOKENS = 8, 48
MOST_OWN = 32  # prompts of a visitor
NO_PATHS = (
    "Heads of a folder or Hub id are not opened on a public host: start the app on your own "
    "machine, without --public."
)
NEEDS_MODEL = (
    "Examining heads needs a model, and this app shows recorded runs only: start it without "
    "--replay, or look at the recorded checkup."
)


class HeadsHandlers:
    """The page and its handlers, over one worker and its limits."""

    def __init__(self, worker: ModelWorker, limits: Limits) -> None:
        self.worker, self.limits = worker, limits
        self.page: HeadsPage = build_heads_page(limits)

    def examine(self, heads: object, prompts: object) -> Iterator[Update]:
        """Examine heads, when it is this visitor's turn: the loaded ones, or those of a folder or
        Hub id; on the built-in prompts or on the visitor's own, one a line."""
        try:
            if self.worker.status.recorded_only:
                raise ExplorerError(NEEDS_MODEL)
            asked = self._asked(str(heads or "").strip(), str(prompts or ""))
        except ExplorerError as error:
            yield self._standing("failed", str(error))
            return
        ticket = self.worker.enter()
        try:
            yield self._standing("waiting", "Waiting for the model.")
            for _ in until_turn(self.worker, ticket):
                pass
            yield from self._work(ticket, asked)
        except Exception as error:
            yield self._standing("failed", sentence(error))
        finally:
            self.worker.leave(ticket)

    def _asked(self, heads: str, text: str) -> dict[str, Any]:
        """What the worker is asked for. Raises ExplorerError for what is not allowed here."""
        if heads and not self.limits.opens_paths:
            raise ExplorerError(NO_PATHS)
        tokens = min(TOKENS, self.limits.new_tokens)
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        most = min(MOST_OWN, self.limits.compared_prompts)
        if len(lines) > most:
            raise ExplorerError(
                f"There are {len(lines)} prompts and at most {most} are examined here: take fewer."
            )
        for line in lines:
            self.limits.check(line, DecodeSettings(max_new_tokens=tokens))
        own: list[Prompt] = [
            {"id": f"own-{number}", "category": "own", "prompt": line}
            for number, line in enumerate(lines, start=1)
        ]
        prompts = own or read_prompts(str(BUILT_IN), PROMPTS)
        return {"heads": heads, "prompts": prompts, "tokens": tokens}

    def _work(self, ticket: Ticket, asked: dict[str, Any]) -> Iterator[Update]:
        said: list[tuple[str, float | None]] = [("starting", None)]

        def progress(text: str, fraction: float | None) -> None:
            said.append((text, fraction))

        work = self.worker.checkup(ticket, progress=progress, **asked)
        while not work.done():
            yield self._standing("loading", f"Examining: {said[-1][0]}", said[-1][1])
            wait([work], timeout=POLL)
        yield self._shown(work.result(), "Measured just now, on this machine.")

    def show_recorded(self) -> Update:
        """The checkup that ships."""
        checkup = Checkup.model_validate_json(RECORDED.read_bytes())
        return self._shown(checkup, "Recorded: the default model's heads, as they ship.")

    def tick(self) -> Update:
        """Show the progress of loading in the header."""
        return updates.progress(self.page, self.worker, "Heads")

    def _standing(self, kind: str, text: str, fraction: float | None = None) -> Update:
        return {self.page.status: panels.status(kind, text, fraction)}

    def _shown(self, checkup: Checkup, how: str) -> Update:
        page = self.page
        return self._standing("done", how) | {
            page.report: report(checkup),
            page.ledger: ledger_figure(checkup.ledger),
            page.accuracy: accuracy_figure(checkup.accuracy),
            page.confidence: confidence_figure(checkup.accuracy),
            page.kinds: kinds_figure(checkup.accuracy),
            page.wrong: wrong_html(checkup.accuracy),
        }


def report(checkup: Checkup) -> str:
    """Findings and facts as HTML."""
    return (
        f'<div class="tl-facts"><div><b>{checkup.ledger.measured:.2f}×</b><span>plain decoding, '
        f"measured</span></div><div><b>{checkup.ledger.tokens_per_step:.2f}</b><span>tokens per "
        f"step</span></div></div>{findings_html(checkup.findings)}{facts_html(checkup)}"
    )


def connect_heads(worker: ModelWorker, limits: Limits, demo: gr.Blocks) -> HeadsPage:
    """Build the Heads page and wire its components to their handlers."""
    handlers = HeadsHandlers(worker, limits)
    page = handlers.page
    page.examine.click(
        handlers.examine, page.asked, page.shown, trigger_mode="once",
        concurrency_limit=limits.waiting_runs, concurrency_id=RUNS, **QUIET,
    )  # fmt: skip
    page.recorded.click(handlers.show_recorded, None, page.shown, **MANY)
    loading = [page.header, page.loading]
    page.loading.tick(handlers.tick, None, loading, **MANY)
    demo.load(handlers.tick, None, loading, **MANY)
    demo.load(handlers.show_recorded, None, page.shown, **MANY)  # no empty frames
    return page
