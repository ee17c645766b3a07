"""The Heads page's requests to the server: examine the heads, or show a recorded checkup."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import wait

import gradio as gr

from explorer.analysis.checkup import Checkup
from explorer.figures.checkup import accuracy_figure, confidence_figure, ledger_figure
from explorer.figures.checkup_html import facts_html, findings_html
from explorer.records.paths import ASSETS
from explorer.records.prompts import BUILT_IN, read_prompts
from explorer.ui import panels, updates
from explorer.ui.heads_page import HeadsPage, build_heads_page
from explorer.ui.limits import Limits
from explorer.ui.parts import MANY, QUIET
from explorer.ui.runs import POLL, RUNS, sentence, until_turn
from explorer.ui.updates import Update
from explorer.ui.worker import ModelWorker, Ticket

RECORDED = ASSETS / "checkups" / "default.json"
PROMPTS, TOKENS = 8, 48
NEEDS_MODEL = (
    "Examining heads needs a model, and this app shows recorded runs only: start it without "
    "--replay, or look at the recorded checkup."
)


class HeadsHandlers:
    """The page and its handlers, over one worker and its limits."""

    def __init__(self, worker: ModelWorker, limits: Limits) -> None:
        self.worker, self.limits = worker, limits
        self.page: HeadsPage = build_heads_page()

    def examine(self) -> Iterator[Update]:
        """Examine the loaded heads, when it is this visitor's turn."""
        if self.worker.status.recorded_only:
            yield self._told("failed", NEEDS_MODEL)
            return
        ticket = self.worker.enter()
        try:
            yield self._told("waiting", "Waiting for the model.")
            for _ in until_turn(self.worker, ticket):
                pass
            yield from self._work(ticket)
        except Exception as error:
            yield self._told("failed", sentence(error))
        finally:
            self.worker.leave(ticket)

    def _work(self, ticket: Ticket) -> Iterator[Update]:
        said: list[tuple[str, float | None]] = [("starting", None)]

        def progress(text: str, fraction: float | None) -> None:
            said.append((text, fraction))

        prompts = read_prompts(str(BUILT_IN), PROMPTS)
        tokens = min(TOKENS, self.limits.new_tokens)
        work = self.worker.checkup(ticket, prompts=prompts, tokens=tokens, progress=progress)
        while not work.done():
            yield self._told("loading", f"Examining: {said[-1][0]}", said[-1][1])
            wait([work], timeout=POLL)
        yield self._shown(work.result(), "Measured just now, on this machine.")

    def show_recorded(self) -> Update:
        """The checkup that ships."""
        checkup = Checkup.model_validate_json(RECORDED.read_bytes())
        return self._shown(checkup, "Recorded: the default model's heads, as they ship.")

    def tick(self) -> Update:
        """Show the progress of loading in the header."""
        return updates.progress(self.page, self.worker, "Heads")

    def _told(self, kind: str, text: str, fraction: float | None = None) -> Update:
        return {self.page.status: panels.status(kind, text, fraction)}

    def _shown(self, checkup: Checkup, how: str) -> Update:
        page = self.page
        return self._told("done", how) | {
            page.report: report(checkup),
            page.ledger: ledger_figure(checkup.ledger),
            page.accuracy: accuracy_figure(checkup.accuracy),
            page.confidence: confidence_figure(checkup.accuracy),
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
        handlers.examine, None, page.shown, trigger_mode="once",
        concurrency_limit=limits.waiting_runs, concurrency_id=RUNS, **QUIET,
    )  # fmt: skip
    page.recorded.click(handlers.show_recorded, None, page.shown, **MANY)
    loading = [page.header, page.loading]
    page.loading.tick(handlers.tick, None, loading, **MANY)
    demo.load(handlers.tick, None, loading, **MANY)
    return page
