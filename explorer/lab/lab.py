"""A loaded model with its heads: what the Python API, the command line and the page run on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from explorer.analysis.tree_names import MEASURED_TREES, parse_tree
from explorer.decoding.acceptance import acceptance_rule
from explorer.decoding.dynamic import DynamicTree
from explorer.decoding.loop import Prefilled, StepResult, decode
from explorer.decoding.registry import DrafterInputs, make_drafter
from explorer.decoding.tree import ROOT_ONLY, Tree, require_fit
from explorer.lab.attention import AttentionWeights
from explorer.lab.pending import Pending, in_lane, made, trace_of
from explorer.lab.run_header import run_header
from explorer.lab.run_start import RunStart, continuation, encode, run_start
from explorer.measuring.floor import reads_of
from explorer.measuring.head_set import HeadSet
from explorer.measuring.race import interleave
from explorer.models.base import LanguageModel
from explorer.models.chat import TokenTexts
from explorer.models.early_exit import default_draft, early_exit
from explorer.models.memory_full import full_memory_explained
from explorer.recording.recorder import Recorder
from explorer.recording.snapshot import Snapshot, snapshot
from explorer.records.continuation import Continuation
from explorer.records.errors import ExplorerError
from explorer.records.events import Event
from explorer.records.floor import StepFloor
from explorer.records.methods import PLAIN, find_method
from explorer.records.schema import Trace
from explorer.records.settings import DecodeSettings, decode_settings


@dataclass
class Lab(AttentionWeights):
    """A base model, its heads if it has any, and the ways to run them: decode, race, compare.

    `heads` holds at most one set of each architecture: "medusa", "hydra". `read_bandwidth` is how
    fast this machine reads memory, in GB/s; where it is known, a step is recorded with its floor.
    `matmul_rate` is how fast it multiplies matrices as the model does, in TFLOP/s, if measured.
    """

    model: LanguageModel
    heads: dict[str, HeadSet] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    draft: LanguageModel | None = None
    read_bandwidth: float | None = None
    matmul_rate: float | None = None

    def __post_init__(self) -> None:
        self.pieces = TokenTexts(self.model.tokenizer)
        # Held for one step at a time, so that concurrent runs take turns and no step's clock
        # counts another run's work.
        self._turn = threading.Lock()
        self._drafts: dict[int, LanguageModel] = {}

    @property
    def description(self) -> str:
        """Model, backend and device in a few words."""
        return f"{self.model.name} · {self.model.backend} · {self.model.device.type.upper()}"

    @property
    def method(self) -> str:
        """The default method of this model; "plain" without heads."""
        return next((name for name in ("medusa", "hydra") if name in self.heads), PLAIN)

    def heads_for(self, settings: DecodeSettings) -> HeadSet | None:
        """The heads of the settings' method. Raises ExplorerError if they are missing."""
        return self.heads.get(find_method(settings.method, self.heads).heads)

    def tree_for(self, settings: DecodeSettings, prompt_tokens: int = 0) -> Tree | DynamicTree:
        """The tree that the settings ask for, after a prompt of `length` tokens.

        Raises ExplorerError if it does not fit the heads.
        """
        method, chosen = find_method(settings.method, self.heads), self.heads_for(settings)
        if chosen is None:
            return ROOT_ONLY
        context = prompt_tokens + settings.max_new_tokens // 2
        # Drawn candidates need a fixed tree: it must not depend on what is drawn.
        drawn = settings.candidates == "drawn" and method.heeds("candidates")
        if settings.tree == "auto" and not drawn:
            return chosen.auto_tree(context)
        if settings.tree in MEASURED_TREES:
            return chosen.fixed_tree(context)
        tree = parse_tree(settings.tree)
        if isinstance(tree, Tree):
            require_fit(tree, chosen.heads.config.num_heads, chosen.heads.config.output_size)
        return tree

    def draft_model(self, layers: int = 0) -> LanguageModel:
        """The model that `draft-model` drafts with: the first `layers` layers, or for 0 the given
        or the default one. Made when first asked for."""
        if layers not in self._drafts:
            if layers:
                self._drafts[layers] = early_exit(self.model, layers)
            else:
                self._drafts[layers] = self.draft or default_draft(self.model)
        return self._drafts[layers]

    def encode(self, prompt: str, settings: DecodeSettings) -> list[int]:
        """Token ids of the prompt. Raises ExplorerError if it is empty or too long."""
        return encode(self.model, prompt, settings)

    @property
    def context_length(self) -> int:
        """How many tokens the model can read and write in total."""
        return self.model.context_length

    def decode(
        self,
        prompt: str | Continuation,
        settings: DecodeSettings,
        cancel: threading.Event | None = None,
    ) -> Iterator[Event]:
        """One lane, as events. Raises ExplorerError on bad input, at the first event.

        A Continuation instead of a prompt continues its text; here and below.
        """
        yield from made(self.pending(prompt, settings, cancel))

    def pending(
        self,
        prompt: str | Continuation,
        settings: DecodeSettings,
        cancel: threading.Event | None = None,
    ) -> Iterator[Pending]:
        """One lane, as events that are still to be made, in their order: now, or after the run.

        Making a step's record takes part of a step's time, which a run need not wait for.
        """
        # A method without heads is recorded with the guesses of the default heads.
        recorder = self._recorder(settings, self.heads_for(settings) or self.heads.get(self.method))
        begin = run_start(self.model, prompt, settings)
        for item in self._lane(begin.ids, settings, cancel):
            yield self._pending(recorder, item, begin, settings)
        yield partial(self._rest, recorder)

    def race(
        self,
        prompt: str | Continuation,
        settings: DecodeSettings,
        cancel: threading.Event | None = None,
        against: str = PLAIN,
    ) -> Iterator[Event]:
        """The settings' method and another, interleaved; each lane ends on its own."""
        yield from made(self._race(prompt, settings, cancel, against))

    def _race(
        self,
        prompt: str | Continuation,
        settings: DecodeSettings,
        cancel: threading.Event | None,
        against: str,
    ) -> Iterator[Pending]:
        lanes = [settings, settings.model_copy(update={"method": against})]
        for number, make in self._lanes(prompt, lanes, cancel):
            yield partial(in_lane, make, number)

    def run(
        self, prompt: str | None = None, *, continue_from: Trace | None = None, **settings: Any
    ) -> Trace:
        """Decode to the end: `decode` as a trace. Settings as in DecodeSettings, by name.

        The default method is the model's. `continue_from` replaces the prompt: the run
        continues from that trace's tokens as they are. Raises ExplorerError.
        """
        begin = self._begin(prompt, continue_from)
        return trace_of(self.pending(begin, self._settings(settings)))

    def run_race(
        self,
        prompt: str | None = None,
        *,
        continue_from: Trace | None = None,
        against: str = PLAIN,
        **settings: Any,
    ) -> Trace:
        """Race to the end: `race` as a trace that holds both lanes. Arguments as of `run`."""
        begin = self._begin(prompt, continue_from)
        return trace_of(self._race(begin, self._settings(settings), None, against))

    def _begin(self, prompt: str | None, trace: Trace | None) -> str | Continuation:
        if prompt is not None and trace is None:
            return prompt
        if prompt is None and trace is not None:
            return self.continuation(trace)
        raise ExplorerError("Give a prompt, or a trace to continue from: one of the two.")

    def continuation(self, trace: Trace) -> Continuation:
        """The end of a trace, to continue from. Raises ExplorerError for another model's tokens."""
        return continuation(self.model, self.pieces, trace)

    def _settings(self, given: dict[str, object]) -> DecodeSettings:
        return decode_settings(**{"method": self.method} | given)

    def compare(
        self,
        prompt: str | Continuation,
        settings: DecodeSettings,
        methods: Sequence[str],
        cancel: threading.Event | None = None,
    ) -> Iterator[tuple[str, Event]]:
        """Any methods, interleaved: (method, event) pairs that add up to a trace per method."""
        lanes = [settings.model_copy(update={"method": name}) for name in methods]
        for number, make in self._lanes(prompt, lanes, cancel):
            for event in make():
                yield methods[number], event

    def _lanes(
        self,
        prompt: str | Continuation,
        lanes: Sequence[DecodeSettings],
        cancel: threading.Event | None,
    ) -> Iterator[tuple[int, Pending]]:
        """The lanes, interleaved: pairs of a lane's number and its next events, to be made."""
        begin = run_start(self.model, prompt, lanes[0])
        recorders = [self._recorder(lane, self.heads_for(lane)) for lane in lanes]
        steps = {i: self._lane(begin.ids, lane, cancel) for i, lane in enumerate(lanes)}
        for number, item in interleave(steps):
            yield number, self._pending(recorders[number], item, begin, lanes[number])
        for number, recorder in enumerate(recorders):
            yield number, partial(self._rest, recorder)

    def _recorder(self, settings: DecodeSettings, chosen: HeadSet | None) -> Recorder:
        heads = chosen.heads if chosen else None
        return Recorder(self.pieces, heads, settings, self._floor(settings))

    def _floor(self, settings: DecodeSettings) -> Callable[[int, int], StepFloor] | None:
        """The floor of the method's steps by context length and rows, where it is known."""
        bandwidth = self.read_bandwidth
        reads = None if bandwidth is None else reads_of(self, settings)
        if bandwidth is None or reads is None:
            return None
        return lambda context, rows: reads.floor_at(context, bandwidth, rows, self.matmul_rate)

    def _pending(
        self,
        recorder: Recorder,
        item: Prefilled | StepResult,
        begin: RunStart,
        settings: DecodeSettings,
    ) -> Pending:
        with self._turn:
            if isinstance(item, Prefilled):
                header = run_header(self.model, self.heads_for(settings), begin, settings)
                return partial(iter, [recorder.start(item, header)])
            return partial(self._written, recorder, snapshot(item, settings))

    def _written(self, recorder: Recorder, taken: Snapshot) -> Iterator[Event]:
        with self._turn:
            event = recorder.step(taken)
        yield event

    def _rest(self, recorder: Recorder) -> Iterator[Event]:
        with self._turn:
            event = recorder.finish()
        if event is not None:
            yield event

    def steps(
        self, ids: list[int], settings: DecodeSettings
    ) -> Generator[Prefilled | StepResult, None, None]:
        """The steps of a method, without recording. Raises ExplorerError."""
        method, chosen = find_method(settings.method, self.heads), self.heads_for(settings)
        heads = chosen.heads if chosen else None
        tree = self.tree_for(settings, len(ids))
        inputs = DrafterInputs(self.model, heads, tree, self.draft_model)
        drafter = make_drafter(method, inputs, settings)
        rule = acceptance_rule(settings, self.model.context_length)
        return decode(self.model, drafter, rule, ids, settings.max_new_tokens)

    def _lane(
        self, ids: list[int], settings: DecodeSettings, cancel: threading.Event | None
    ) -> Iterator[Prefilled | StepResult]:
        """The steps of one method, one at a time under the lock, until the end or a cancel."""
        steps = self.steps(ids, settings)
        try:
            while cancel is None or not cancel.is_set():
                with self._turn, full_memory_explained("decoding"):
                    item = next(steps, None)
                if item is None:
                    return
                yield item
        finally:
            steps.close()
