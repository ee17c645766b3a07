"""The named endpoints of the app, /run and /race: for gradio_client, curl and, with --mcp, agents.

Their runs wait in the same queue as those of the page, on the same model and under the same limits.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import gradio as gr

from explorer.records.errors import ExplorerError
from explorer.records.events import Event, TraceBuilder
from explorer.records.methods import race_methods
from explorer.records.schema import Trace
from explorer.records.text import join_pieces
from explorer.ui.api_arguments import Argument, describe, race_arguments, run_arguments
from explorer.ui.limits import Limits
from explorer.ui.runs import RUNS, at_hand, checked_settings, sentence, until_turn
from explorer.ui.worker import ModelWorker, Ticket

if TYPE_CHECKING:
    from explorer.lab.lab import Lab


Item = TypeVar("Item")
Answer = dict[str, Any]
TURN = 0.25  # seconds of decoding between two messages to the client
ABOUT_RUN = (
    "Decode one prompt with speculative decoding and measure it: the text, tokens per second, and "
    "tokens per step. During the run, each update holds state, text and new_tokens."
)
ABOUT_RACE = (
    "Race decoding methods against plain decoding of the same prompt, interleaved on the same "
    "weights: each lane's tokens per second, the speedup, and whether the texts are identical. "
    "During the race, each update holds state, text and new_tokens."
)


class Api:
    """The endpoints as generators: updates while a run waits and decodes, then its result.

    Gradio closes them when the client disconnects, which ends the run.
    """

    def __init__(self, worker: ModelWorker, limits: Limits) -> None:
        self.worker, self.limits = worker, limits

    def run(self, prompt: Any, trace: object, **given: Any) -> Iterator[Answer]:
        """What `python -m explorer run --json` prints; `trace` holds the trace, or null."""
        from explorer.analysis.results import run_result  # takes a second: the page loads first

        settings, wanted = checked_settings(prompt, given, self.limits), _flag(trace)
        builder = TraceBuilder()

        def begin(lab: Lab, ticket: Ticket) -> Iterator[Event]:
            return lab.decode(prompt, at_hand(settings, lab), ticket.cancel)

        yield from self._updates(begin, builder.add, builder)
        done = builder.trace()
        yield run_result(done) | self._notes() | {"trace": _record(done) if wanted else None}

    def race(self, prompt: Any, methods: object, trace: object, **given: Any) -> Iterator[Answer]:
        """What `python -m explorer race --json` prints; `traces` holds each lane's, or is null."""
        from explorer.analysis.results import race_result

        names, wanted = race_methods(_names(methods)), _flag(trace)
        settings = checked_settings(prompt, given | {"method": names[1]}, self.limits)
        builders = {name: TraceBuilder() for name in names}

        def begin(lab: Lab, ticket: Ticket) -> Iterator[tuple[str, Event]]:
            return lab.compare(prompt, settings, names, ticket.cancel)

        def add(item: tuple[str, Event]) -> None:
            builders[item[0]].add(item[1])

        yield from self._updates(begin, add, builders[names[1]])
        lanes = {name: builder.trace() for name, builder in builders.items()}
        records = {name: _record(lane) for name, lane in lanes.items()} if wanted else None
        yield race_result(lanes) | self._notes() | {"traces": records}

    def _updates(
        self,
        begin: Callable[[Lab, Ticket], Iterator[Item]],
        add: Callable[[Item], None],
        shown: TraceBuilder,
    ) -> Iterator[Answer]:
        """Wait for the model, then pass the run's events to `add`."""
        ticket = self.worker.enter()
        try:
            for _ in until_turn(self.worker, ticket):
                yield _update("loading" if self.worker.lab is None else "waiting", shown)
            turns = self.worker.turns(lambda lab: begin(lab, ticket))
            try:
                while (items := turns.advance(TURN)) is not None:
                    for item in items:
                        add(item)
                    yield _update("decoding", shown)
            finally:
                turns.close()
        finally:
            self.worker.leave(ticket)

    def _notes(self) -> Answer:
        lab = self.worker.lab
        return {"notes": list(lab.notes) if lab else []}


def connect_api(worker: ModelWorker, limits: Limits, demo: gr.Blocks) -> None:
    """Register the endpoints in `demo`, which must be entered."""
    api = Api(worker, limits)
    for name, answers, about, arguments in (
        ("run", api.run, ABOUT_RUN, run_arguments()),
        ("race", api.race, ABOUT_RACE, race_arguments()),
    ):
        endpoint = _endpoint(answers, arguments)
        describe(endpoint, name, about, arguments, Answer)
        # One limit for all runs that wait for the model, from the page or from here.
        queue = {"concurrency_limit": limits.waiting_runs, "concurrency_id": RUNS}
        number = gr.api(endpoint, api_name=name, **queue)["id"]
        function: Any = demo.fns[number]
        for component, argument in zip(function.inputs, arguments, strict=True):
            component.label = argument.name
            component.api_info()["additional_description"] = argument.about
        description = f"what `python -m explorer {name} --json` prints"
        function.outputs[0].api_info()["description"] = description


def _endpoint(
    answers: Callable[..., Iterator[Answer]], arguments: Sequence[Argument]
) -> Callable[..., Iterator[Answer | str]]:
    """A function of the arguments' values and the request, whose failures are one sentence."""

    names = [argument.name for argument in arguments]

    def endpoint(*values: Any) -> Iterator[Answer | str]:
        *given, request = values
        # Gradio would show an agent Python's way of writing a dict.
        agent = request.headers.get("x-gradio-user") == "mcp"
        try:
            for answer in answers(**dict(zip(names, given, strict=True))):
                yield json.dumps(answer, ensure_ascii=False) if agent else answer
        except Exception as error:
            raise gr.Error(sentence(error), print_exception=False) from error

    return endpoint


def _names(methods: object) -> list[str]:
    if not isinstance(methods, list) or not all(isinstance(name, str) for name in methods):
        raise ExplorerError('methods is a list of names: give for example ["plain", "medusa"].')
    return methods


def _flag(trace: object) -> bool:
    if not isinstance(trace, bool):
        raise ExplorerError("trace must be true or false.")
    return trace


def _record(trace: Trace) -> Answer:
    return trace.model_dump(mode="json")


def _update(state: str, builder: TraceBuilder) -> Answer:
    """The progress of a run: state is loading, waiting or decoding."""
    tokens = [token for step in builder.steps for token in step.emitted]
    ends = builder.header.eos_ids if builder.header else []
    text = join_pieces(builder.pieces, [token for token in tokens if token not in ends])
    whole = text.rstrip("\ufffd")  # the last character may not be complete yet
    return {"state": state, "text": whole, "new_tokens": len(tokens)}
