"""What the Serve page asks: look at a server, one prompt or a load, stop, and the same run here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack

import gradio as gr

from explorer.figures import serving_words
from explorer.records.errors import ExplorerError
from explorer.records.events import TraceBuilder
from explorer.records.numbers import plural
from explorer.records.prompts import Prompt
from explorer.records.serving import Answer, ServingRecord
from explorer.records.settings import decode_settings
from explorer.serving.client import ServerClient
from explorer.serving.load import Load
from explorer.serving.recorded import recorded
from explorer.ui import panels, updates
from explorer.ui import serving_results as results
from explorer.ui.compare_request import built_in_prompts
from explorer.ui.limits import PUBLIC, Limits
from explorer.ui.parts import MANY
from explorer.ui.runs import sentence, until_turn
from explorer.ui.served_rows import ServedRows
from explorer.ui.serving_page import PROMPT, SWEEP, ServingPage, build_serving_page
from explorer.ui.serving_session import ServingSession
from explorer.ui.serving_steps import steps_message
from explorer.ui.updates import Update
from explorer.ui.worker import ModelWorker

LEVELS = (1, 2, 4, 8, 16)
TREES = ("auto",)  # of this explorer, against the server's chain
TURN = 0.25
MAX_HERE = 8  # prompts that are decoded here too


class ServingHandlers:
    """The page and its handlers. Built inside a gr.Blocks."""

    def __init__(
        self, worker: ModelWorker, limits: Limits, served: ServedRows | None = None
    ) -> None:
        self.worker, self.served = worker, served or ServedRows()
        self.page: ServingPage = build_serving_page(public=limits is PUBLIC)
        self.record: ServingRecord | None = recorded()

    def tick(self) -> Update:
        """Show the progress of loading in the header."""
        return updates.progress(self.page, self.worker, "Serve")

    def opened(self) -> Update:
        """The recorded figures, which stand there until something is measured."""
        return self.tick() | (results.recorded(self.page, self.record) if self.record else {})

    def check(self, address: str) -> Update:
        """Say what answers at the address."""
        try:
            with ServerClient(address) as client:
                return self._status("done", serving_words.server_words(client.info()))
        except ExplorerError as error:
            return self._status("failed", str(error))

    def run(
        self,
        session: ServingSession,
        address: str,
        baseline: str,
        prompt: str,
        kind: str,
        concurrency: float,
        requests: float,
        tokens: float,
    ) -> Iterator[Update]:
        """Ask the servers and stream what comes of it."""
        session.stop()
        try:
            prompts = _prompts(kind, prompt)
            with ExitStack() as open_clients:
                ours = open_clients.enter_context(ServerClient(address))
                base = open_clients.enter_context(ServerClient(baseline)) if baseline else None
                session.begin(ours.info())
                session.prompts, session.max_new_tokens = prompts, int(tokens)
                yield self._status("running", "Asking") | self._buttons(session, live=True)
                for level, count in _levels(kind, int(concurrency), int(requests)):
                    for client in filter(None, (ours, base)):
                        yield from self._load(session, client, client is ours, level, count)
            yield self._status("done", _outcome(session)) | self._measured(session)
        except Exception as error:
            yield self._status("failed", sentence(error))
        yield self._buttons(session, live=False)

    def _load(
        self, session: ServingSession, client: ServerClient, ours: bool, level: int, count: int
    ) -> Iterator[Update]:
        """One load at one server, with its progress."""
        assert session.cancel is not None
        assert session.info is not None
        if session.cancel.is_set():
            return
        info = session.info if ours else client.info()
        load = Load(
            client, info.models[0], session.prompts, level, count, session.max_new_tokens,
            token_ids=info.engine is not None,
        )  # fmt: skip
        found = session.speculative if ours else session.plain
        who = "server" if ours else "baseline"
        for come in load.answers(session.cancel):
            if not come:
                continue
            found[level] = load.figures()
            if ours:
                session.answers, session.level = load.done, level
            text = f"The {who} has answered {len(load.done)} of {plural(count, 'request')}"
            share = len(load.done) / count
            at = f", {level} at a time."
            yield self._status("loading", text + at, share) | {
                self.page.figures: results.table(session)
            }
        if load.done:
            found[level] = load.figures()
        _require_answers(load.done)
        yield self._measured(session)

    def stop(self, session: ServingSession) -> None:
        """Ask the tab's run to end."""
        session.stop()

    def keep(self, session: ServingSession) -> Update:
        """Take the figures so far for the baseline, for a server that is then restarted."""
        session.keep()
        text = (
            "Kept as the baseline. Start the same server with speculation at the same address, and "
            "press Run."
        )
        return (
            self._status("done", text)
            | self._measured(session)
            | self._buttons(session, live=False)
        )

    def here(self, session: ServingSession) -> Iterator[Update]:
        """Race the same prompts here, so that tree and chain can be compared."""
        ticket = self.worker.enter()
        session.cancel = ticket.cancel
        try:
            yield self._status("waiting", "Waiting for the model.") | self._buttons(session, True)
            for _ in until_turn(self.worker, ticket):
                pass
            yield from self._races(session, ticket)
            done = "Decoded the same prompts here: see the last table."
            yield self._status("done", done) | self._measured(session)
        except Exception as error:
            yield self._status("failed", sentence(error))
        finally:
            self.worker.leave(ticket)
        yield self._buttons(session, live=False)

    def _races(self, session: ServingSession, ticket) -> Iterator[Update]:
        from explorer.serving.rows import explorer_row

        lab = self.worker.lab
        assert lab is not None  # the button waits for the model
        session.here, session.prompts_here = [], []
        answered = {answer.prompt for answer in session.whole_answers()}
        asked = [record for record in session.prompts if record["prompt"] in answered][:MAX_HERE]
        for tree in TREES:
            settings = decode_settings(
                method=lab.method, tree=tree, max_new_tokens=session.max_new_tokens
            )
            traces = []
            for number, record in enumerate(asked):
                text = f"Decoding here: prompt {number + 1} of {len(asked)}."
                yield self._status("loading", text, number / len(asked))
                builder = TraceBuilder()
                turns = self.worker.race(ticket, record["prompt"], settings)
                while (events := turns.advance(TURN)) is not None:
                    for event in events:
                        builder.add(event)
                if ticket.cancel.is_set():
                    return
                traces.append(builder.trace())
            engine = f"this explorer, {lab.description.split(' · ')[1]}"
            session.here.append(explorer_row(traces, engine, tree))
        session.prompts_here = asked

    def shown(self, session: ServingSession, number: object) -> Update:
        """Show another request's steps."""
        answers = session.answers or results.answers_of(self.record)
        if not isinstance(number, int) or not 0 <= number < len(answers):
            return {self.page.steps: steps_message(None)}
        return {self.page.steps: steps_message(answers[number])}

    def _measured(self, session: ServingSession) -> Update:
        self.served.take(results.rows_of(session))
        return results.measured(self.page, session)

    def _status(self, kind: str, text: str, share: float | None = None) -> Update:
        return {self.page.status: panels.status(kind, text, share)}

    def _buttons(self, session: ServingSession, live: bool) -> Update:
        inputs = self.page.inputs
        assert inputs is not None  # without them there is nothing to press
        measured = bool(session.speculative) and not live
        no_model = self.worker.status.phase == "failed"
        return {
            inputs.run: gr.Button(interactive=not live),
            inputs.cancel: gr.Button(interactive=live),
            inputs.keep: gr.Button(interactive=measured),
            inputs.here: gr.Button(interactive=measured and not no_model),
        }


def _prompts(kind: str, prompt: str) -> list[Prompt]:
    """What to ask. Raises ExplorerError for an empty prompt."""
    if kind != PROMPT:
        return list(built_in_prompts())
    if not prompt.strip():
        raise ExplorerError("The prompt is empty: write something, or ask for a load.")
    return [{"id": "your prompt", "category": "", "prompt": prompt}]


def _levels(kind: str, concurrency: int, requests: int) -> list[tuple[int, int]]:
    """Requests at a time, and in all."""
    if kind == PROMPT:
        return [(1, 1)]
    if kind == SWEEP:
        return [(level, max(level, requests)) for level in LEVELS]
    return [(concurrency, requests)]


def _require_answers(answers: Sequence[Answer]) -> None:
    """Raise ExplorerError with the first reason where every request failed."""
    if answers and all(answer.problem for answer in answers):
        raise ExplorerError(answers[0].problem)


def _outcome(session: ServingSession) -> str:
    assert session.cancel is not None
    assert session.info is not None
    ended = "Cancelled: what had come stays." if session.cancel.is_set() else "Done."
    return f"{ended} {serving_words.server_words(session.info)}"


def connect_serving(
    worker: ModelWorker, limits: Limits, demo: gr.Blocks, served: ServedRows | None = None
) -> ServingPage:
    """Build the Serve page and wire its components to their handlers."""
    handlers = ServingHandlers(worker, limits, served)
    page = handlers.page
    ticking = [page.header, page.loading]
    page.loading.tick(handlers.tick, None, ticking, **MANY)
    demo.load(handlers.opened, None, [*ticking, *page.results()], **MANY)
    page.request.input(handlers.shown, [page.session, page.request], page.steps, **MANY)
    if page.inputs is not None:
        _connect_inputs(handlers)
    return page


def _connect_inputs(handlers: ServingHandlers) -> None:
    page, inputs = handlers.page, handlers.page.inputs
    assert inputs is not None
    buttons = [inputs.run, inputs.cancel, inputs.keep, inputs.here]
    all_of_it = [page.status, *page.results(), *buttons]
    inputs.check.click(handlers.check, inputs.address, page.status, **MANY)
    asked = [page.session, *inputs.asked()]
    inputs.run.click(handlers.run, asked, all_of_it, trigger_mode="once", **MANY)
    inputs.cancel.click(handlers.stop, page.session, None, **MANY)
    inputs.keep.click(handlers.keep, page.session, all_of_it, **MANY)
    inputs.here.click(handlers.here, page.session, all_of_it, trigger_mode="once", **MANY)
