"""What the Tree lab looks at: recorded texts of heads, and machines whose costs are known."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from explorer.analysis.cost_curve import CostCurve
from explorer.analysis.cost_file import CostFile, parse_costs, shipped_costs
from explorer.analysis.joint_counts import RankedText, ranked_text
from explorer.analysis.rank_table import load_rank_table
from explorer.analysis.tree_lab import BudgetCurve, TreeLab
from explorer.records.errors import ExplorerError
from explorer.records.files import read_trace
from explorer.records.paths import ASSETS
from explorer.records.schema import Trace

HEADS = {"Medusa": "default", "Hydra": "hydra"}
HELD_OUT = "held-out texts of the {} heads that ship"
RECORDED = "all recorded runs"
MOST_TEXTS = 100  # of a rank table: enough for steady figures, and an answer at once
PASTED = "a file of costs, pasted"


@dataclass(frozen=True)
class Source:
    """Texts, and the runs that they are of, where there are any."""

    name: str
    texts: tuple[RankedText, ...]
    traces: tuple[Trace, ...] = ()

    @property
    def positions(self) -> int:
        """How many positions of text there are."""
        return sum(len(text.rows) for text in self.texts)

    def measured(self, paths: set[tuple[int, ...]]) -> float | None:
        """Tokens per step of the runs that were recorded with this very tree; None without one."""
        same = [
            trace for trace in self.traces
            if {tuple(p) for p in max((tree.paths for tree in trace.trees), key=len)} == paths
            and not trace.header.settings.tree.startswith(("auto", "dynamic"))
        ]  # fmt: skip
        steps = sum(len(trace.steps) for trace in same)
        return sum(len(trace.new_token_ids) for trace in same) / steps if steps else None


@cache
def sources() -> dict[str, Source]:
    """Everything that can be replayed without a model, by name."""
    found = {}
    for title, folder in HEADS.items():
        table = load_rank_table(ASSETS / "heads" / folder)
        if table is not None:
            name = HELD_OUT.format(title)
            found[name] = Source(name, tuple(table.ranked()[:MOST_TEXTS]))
    runs = recorded_runs()
    if runs:
        everything = tuple(runs.values())
        found[RECORDED] = Source(RECORDED, tuple(map(ranked_text, everything)), everything)
    for name, trace in runs.items():
        found[name] = Source(name, (ranked_text(trace),), (trace,))
    return found


def recorded_runs() -> dict[str, Trace]:
    """The greedy runs of Medusa heads that ship, by name."""
    traces = {
        f"recorded run: {path.name.removesuffix('.json.gz')}": read_trace(path)
        for path in sorted((ASSETS / "traces").glob("*.json.gz"))
    }
    return {
        name: trace
        for name, trace in traces.items()
        if trace.header.settings.method == "medusa"
        and trace.header.settings.acceptance == "greedy"
        and len(ranked_text(trace).rows)
    }


@cache
def machines() -> dict[str, CostFile]:
    """The cost files that ship, by a title."""
    return {costs.title: costs for costs in shipped_costs().values()}


def machine_of(name: str, pasted: str) -> CostFile:
    """The costs that were chosen, or pasted. Raises ExplorerError."""
    if name == PASTED:
        return parse_costs(pasted)
    if name not in machines():
        raise ExplorerError("There are no costs of that name: choose a machine from the list.")
    return machines()[name]


def curve_at(costs: CostFile, batch: int, context: int) -> CostCurve:
    """The curve of a batch size at the nearest context length. Raises ExplorerError."""
    return min(costs.curves_at(batch), key=lambda curve: abs(curve.context_length - context))


@cache
def _known_lab(source: str, machine: str, batch: int, context: int) -> TreeLab:
    costs = machines()[machine]
    curve = curve_at(costs, batch, context)
    return TreeLab(sources()[source].texts, curve, costs.overhead(batch))


@cache
def _known_budget(source: str, machine: str, batch: int, context: int) -> BudgetCurve:
    return _known_lab(source, machine, batch, context).budget()


def lab_of(
    source: str, machine: str, pasted: str, batch: int, context: int
) -> tuple[TreeLab, BudgetCurve]:
    """The lab of these texts on this machine, and its best trees. Raises ExplorerError."""
    if source not in sources():
        raise ExplorerError("There are no texts of that name: choose some from the list.")
    costs = machine_of(machine, pasted)
    curve = curve_at(costs, batch, context)
    if machine != PASTED:
        key = (source, machine, batch, curve.context_length)
        return _known_lab(*key), _known_budget(*key)
    lab = TreeLab(sources()[source].texts, curve, costs.overhead(batch))
    return lab, lab.budget()
