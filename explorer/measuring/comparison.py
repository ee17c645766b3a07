"""A comparison with live results: a benchmark with a report after each prompt.

It works in short turns, so that the owner of the model's thread can show results and stop it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from explorer.analysis.cost_curve import CostCurve
from explorer.analysis.races import Race
from explorer.analysis.shares import Shares, shares
from explorer.measuring.audit import NOISE_TEXTS, NOISE_TOKENS, explain
from explorer.measuring.bandwidth import read_bandwidth
from explorer.measuring.bench import curve_context, plain_laps
from explorer.measuring.bench_races import Races, race_turns, report_of, settings_of
from explorer.measuring.bench_report import BenchReport
from explorer.measuring.cost_curve import WIDTHS, measure_cost_curve
from explorer.measuring.memory import ExtraMemory, extra_memory
from explorer.measuring.noise import WIDTHS as NOISE_WIDTHS
from explorer.measuring.noise import Noise, measure_noise
from explorer.records.errors import ExplorerError
from explorer.records.methods import PLAIN
from explorer.records.prompts import Prompt
from explorer.records.settings import DecodeSettings

if TYPE_CHECKING:
    from explorer.measuring.lab_protocol import LabProtocol

MAX_EXPLAINED = 12  # differences to explain; each costs a plain run up to its position


@dataclass(frozen=True)
class Turn:
    """The present work, the finished share of the races, and a report if there is a new one."""

    text: str
    share: float
    report: BenchReport | None = None


def comparison(
    lab: LabProtocol,
    prompts: Sequence[Prompt],
    methods: Sequence[str],
    max_new_tokens: int,
    tree: str = "auto",
    cancel: threading.Event | None = None,
) -> Iterator[Turn]:
    """Race the methods against plain on every prompt; a report after each prompt and at the end.

    A method that cannot run here is reported as unavailable. Raises ExplorerError for a bad prompt
    or setting, and if no method can run. If cancelled, it ends after a report on the finished
    prompts.
    """
    racing = [method for method in dict.fromkeys(methods) if method != PLAIN]
    chosen = settings_of(racing, tree=tree, max_new_tokens=max_new_tokens)
    for record in prompts:
        _check(lab, record, next(iter(chosen.values())))
    yield Turn("Measuring each method's memory", 0.0)
    run = _Comparison(lab, prompts, chosen, cancel)
    yield from run.prepare()
    yield from run.races_of_all()
    yield from run.explain_differences()


def _check(lab: LabProtocol, record: Prompt, settings: DecodeSettings) -> None:
    """Raise ExplorerError for a prompt that does not fit, before anything is measured."""
    try:
        lab.encode(record["prompt"], settings)
    except ExplorerError as error:
        raise ExplorerError(f"Prompt '{record['id']:.40}': {error}") from error


@dataclass
class _Comparison:
    """The state of one comparison between its turns."""

    lab: LabProtocol
    prompts: Sequence[Prompt]
    chosen: dict[str, DecodeSettings]
    cancel: threading.Event | None
    memory: dict[str, ExtraMemory] = field(default_factory=dict)
    unavailable: dict[str, str] = field(default_factory=dict)
    races: Races = field(default_factory=dict)
    plain_shares: Shares | None = None
    curve: CostCurve | None = None
    bandwidth: float | None = None

    @property
    def cancelled(self) -> bool:
        return self.cancel is not None and self.cancel.is_set()

    def report(self) -> BenchReport:
        return report_of(
            self.lab,
            self.races,
            self.chosen,
            self.memory,
            self.plain_shares,
            self.curve,
            self.bandwidth,
            unavailable=self.unavailable,
        )

    def prepare(self) -> Iterator[Turn]:
        """Each method's extra memory; methods that cannot run are set aside."""
        for method, settings in list(self.chosen.items()):
            try:
                self.memory[method] = extra_memory(self.lab, settings)
                self.lab.tree_for(settings)
            except ExplorerError as error:
                self.unavailable[method] = str(error)
                del self.chosen[method]
            yield Turn("Measuring each method's memory", 0.0)
        if not self.chosen:
            raise ExplorerError(" ".join(self.unavailable.values()))
        self.races = {method: [] for method in self.chosen}

    def races_of_all(self) -> Iterator[Turn]:
        """The races; the side measurements follow the first prompt."""
        count, share = len(self.prompts), 0.0
        for turn in race_turns(self.lab, self.prompts, self.chosen, self.cancel):
            if not isinstance(turn, Race):
                share = turn
                yield Turn(self._now(), share)
                continue
            self.races[turn.figures.method].append(turn)
            group = {len(races) for races in self.races.values()}
            if len(group) == 1:  # all methods have decoded this prompt
                if self.curve is None:
                    yield Turn("The first prompt is done", share, self.report())
                    yield from self.measure_aside(share)
                yield Turn(f"Prompt {group.pop()} of {count} is done", share, self.report())
        self._drop_unfinished()
        if self.cancelled:
            yield Turn("Cancelled", share, self.report())

    def _now(self) -> str:
        """The present prompt and method, in words."""
        methods, count = list(self.chosen), len(self.prompts)
        done = sum(map(len, self.races.values()))
        return f"Prompt {done // len(methods) + 1} of {count}: {methods[done % len(methods)]}"

    def measure_aside(self, share: float) -> Iterator[Turn]:
        """The parts of a plain step's time, the cost curve, and the read bandwidth."""
        laps = []
        for lap in plain_laps(self.lab, self.prompts[0]["prompt"]):
            laps.append(lap)
            yield Turn("Measuring the parts of a plain step's time", share)
            if self.cancelled:
                return
        self.plain_shares = shares(laps)
        yield Turn("Measuring the cost of wider passes, C(n)", share)
        rows = [fact.rows for races in self.races.values() for race in races for fact in race.facts]
        last = next((i for i, n in enumerate(WIDTHS) if n >= max(rows, default=1)), len(WIDTHS))
        widths = WIDTHS[: last + 2]
        self.curve = measure_cost_curve(self.lab.model, widths, curve_context(self.lab))
        self.bandwidth = read_bandwidth(self.lab.model.device)

    def explain_differences(self) -> Iterator[Turn]:
        """The audit's explanations of texts that differ from plain's."""
        differing = [
            (method, place, race)
            for method, races in self.races.items()
            for place, race in enumerate(races)
            if race.figures.difference is not None
        ]
        if differing and not self.cancelled:
            yield (measuring := Turn("Measuring the backend's noise, to explain differences", 1.0))
            noises = []
            for *_, race in differing[:NOISE_TEXTS]:
                noises.append(self._noise(race))
                yield measuring
            noise = max(noises, key=lambda noise: noise.margin)
            for method, place, race in differing[:MAX_EXPLAINED]:
                if self.cancelled:
                    break
                self.races[method][place] = self._explained(method, race, noise)
                yield Turn("Explaining differences", 1.0)
        if not self.cancelled:
            yield Turn("Done", 1.0, self.report())

    def _noise(self, race: Race) -> Noise:
        prompt, expected, _ = race.texts
        return measure_noise(self.lab.model, [(prompt, expected[:NOISE_TOKENS])], NOISE_WIDTHS)

    def _explained(self, method: str, race: Race, noise: Noise) -> Race:
        found = explain(self.lab.model, noise, *race.texts, {}, method=method)
        fields = {"verdict": found.verdict, "explanation": found.explanation}
        assert race.figures.difference is not None
        difference = race.figures.difference.model_copy(update=fields)
        return replace(race, figures=race.figures.model_copy(update={"difference": difference}))

    def _drop_unfinished(self) -> None:
        """Keep only prompts that every method has been through: means over different prompts
        cannot be compared."""
        done = min(map(len, self.races.values()))
        self.races = {method: races[:done] for method, races in self.races.items()}
