"""The Tree lab's requests to the server: every change of texts, machine or tree."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from html import escape
from typing import Any
from urllib.parse import quote

import gradio as gr

from explorer.analysis.tree_buffers import tree_buffers
from explorer.analysis.tree_lab import BudgetCurve, ShapeReport, TreeLab
from explorer.figures.shape_picture import shape_picture
from explorer.figures.tree_lab import budget_figure, cost_figure, independence_figure
from explorer.records.errors import ExplorerError
from explorer.records.numbers import count, plural, signed
from explorer.records.paths import ASSETS
from explorer.records.rank_paths import (
    MAX_NODES,
    RankPath,
    cartesian_counts,
    checked_paths,
    parse_paths,
)
from explorer.ui import panels, updates
from explorer.ui.parts import MANY, QUIET
from explorer.ui.tree_page import BEST, TreePage, build_tree_page
from explorer.ui.tree_sources import lab_of, machine_of, sources
from explorer.ui.updates import Update
from explorer.ui.worker import ModelWorker

NEAR = 0.02  # of a speedup: estimates that lie nearer count as equal
BEAT = 0.35  # seconds between two nodes of a growing tree


class TreeHandlers:
    """The page and its handlers. They look at recorded runs alone and need no model."""

    def __init__(self, worker: ModelWorker) -> None:
        self.worker = worker
        self.page: TreePage = build_tree_page()

    def show(self, *asked: object) -> Update:
        """Everything about the tree that the text names."""
        try:
            lab, budget = lab_of(*_where(asked))
            paths = self._paths(asked[5], budget)
            return self._drawn(asked, lab, budget, paths)
        except ExplorerError as error:
            return {self.page.summary: panels.status("failed", str(error))}

    def opened(self, *asked: object) -> Update:
        """The tree of the page's address, or the best one."""
        return self._become(str(asked[5] or BEST), asked)

    def name(self, named: str, *asked: object) -> Update:
        """A tree chosen by its name."""
        return self._become(named, asked)

    def widen(self, widths: object, *asked: object) -> Update:
        """The Cartesian tree of widths; where it explodes, how many paths and nodes it has."""
        try:
            numbers = [int(part) for part in str(widths).split(",")]
        except ValueError:
            return self._refused("Write the width of each depth as 3,2,1.")
        paths, nodes = cartesian_counts(numbers[:16])
        updated = self._become(f"cartesian:{','.join(map(str, numbers))}", asked)
        if self.page.tree not in updated and min(numbers) >= 1 and nodes < 1e12:
            said = f"{' · '.join(map(str, numbers))} makes {paths:,} paths and {nodes:,} nodes."
            return self._refused(f"{said} A tree here has at most {MAX_NODES} nodes.")
        return updated

    def trim(self, nodes: object, *asked: object) -> Update:
        """The greedy tree with this many nodes."""
        try:
            _, budget = lab_of(*_where(asked))
            kept = budget.order[: _whole(nodes, "number of nodes")]
        except ExplorerError as error:
            return self._refused(str(error))
        return self._become(json.dumps(kept), asked)

    def grow(self, *asked: object) -> Iterator[Update]:
        """The greedy construction, node by node, up to the best tree and a few nodes beyond."""
        try:
            _, budget = lab_of(*_where(asked))
        except ExplorerError as error:
            yield self._refused(str(error))
            return
        for nodes in range(1, min(len(budget.order), max(8, budget.best + 4)) + 1):
            yield self._become(json.dumps(budget.order[:nodes]), asked) | {self.page.greedy: nodes}
            time.sleep(BEAT)

    def click(self, event: gr.EventData, *asked: object) -> Update:
        """Add or remove the node that was clicked, with what hangs from it."""
        try:
            path = tuple(int(rank) for rank in str(event._data["node"]).split(","))
            _, budget = lab_of(*_where(asked))
            tree = self._paths(asked[5], budget)
            kept = [each for each in tree if each[: len(path)] != path]
            after = kept if path in tree else [*tree, path]
            return self._become(json.dumps(checked_paths(after)), asked)
        except (ExplorerError, KeyError, TypeError, ValueError) as error:
            return self._refused(str(error) if isinstance(error, ExplorerError) else "")

    def tick(self) -> Update:
        """Show the progress of loading in the header."""
        return updates.progress(self.page, self.worker, "Tree lab")

    def _become(self, text: str, asked: tuple[Any, ...]) -> Update:
        """The tree box says `text` as rank paths, and everything is about that tree."""
        try:
            lab, budget = lab_of(*_where(asked))
            paths = self._paths(text, budget)
            drawn = self._drawn(asked, lab, budget, paths)
        except ExplorerError as error:
            return self._refused(str(error))
        return drawn | {self.page.tree: _json(paths)}

    def _refused(self, sentence: str) -> Update:
        return {self.page.summary: panels.status("failed", sentence or "That is no node.")}

    def _paths(self, text: object, budget: BudgetCurve) -> list[RankPath]:
        if not text or text == BEST:
            return [tuple(path) for path in budget.order[: budget.best or 1]]
        return sorted(parse_paths(str(text)), key=lambda path: (len(path), path))

    def _drawn(
        self, asked: tuple[Any, ...], lab: TreeLab, budget: BudgetCurve, paths: list[RankPath]
    ) -> Update:
        report, page = lab.report(paths), self.page
        source, machine, batch, _, pasted, _ = asked
        costs = machine_of(str(machine), str(pasted))
        curves = [(f"batch {b}", costs.curves_at(b)[0]) for b in costs.batches]
        values = {tuple(node.path): (node.right, node.pays) for node in report.nodes}
        measured = sources()[str(source)].measured(set(paths))
        return {
            page.summary: summary(report, budget, costs.title, int(batch), _positions(source)),
            page.picture: shape_picture(paths, lab.heads, values),
            page.budget: budget_figure(budget, report),
            page.bars: independence_figure(report, measured),
            page.costs: cost_figure(curves, report.rows),
            page.buffers: _buffers(paths),
        }


def _where(asked: tuple[Any, ...]) -> tuple[str, str, str, int, int]:
    source, machine, batch, context, pasted, _ = asked
    sizes = _whole(batch, "batch size"), _whole(context, "context length")
    return str(source), str(machine), str(pasted or ""), *sizes


def _whole(given: Any, what: str) -> int:
    """A number that was chosen; None where a list was cleared. Raises ExplorerError."""
    try:
        return int(given)
    except (TypeError, ValueError, OverflowError) as error:
        raise ExplorerError(f"There is no {what}: choose one.") from error


def _positions(source: object) -> int:
    return sources()[str(source)].positions


def _json(paths: list[RankPath]) -> str:
    return json.dumps([list(path) for path in paths])


def _buffers(paths: list[RankPath]) -> str:
    data = {"medusa_choices": [list(path) for path in paths], **tree_buffers(paths).model_dump()}
    return (
        "{\n" + ",\n".join(f'"{name}": {json.dumps(value)}' for name, value in data.items()) + "\n}"
    )


def summary(
    report: ShapeReport, budget: BudgetCurve, machine: str, batch: int, positions: int
) -> str:
    """The tree in numbers, as HTML; estimates are called so."""
    facts = [
        ("nodes", str(report.rows - 1)),
        ("rows of the pass", str(report.rows)),
        ("depth", str(report.depth)),
        ("accepted drafts per step", f"{report.replayed - 1:.2f}"),
        ("tokens per step, replayed", f"{report.replayed:.3f}"),
        ("C(n)", f"{report.cost:.2f}"),
        ("speedup, estimate", f"{report.speedup:.2f}×"),
        ("pays from", f"{report.break_even:.2f} tokens per step"),
    ]
    boxes = "".join(
        f"<div><b>{escape(value)}</b><span>{escape(name)}</span></div>" for name, value in facts
    )
    lines = [
        f"Replayed on {count(positions)} positions; costs of {machine}, batch size {batch}.",
        _effects(report),
        _advice(report, budget),
    ]
    tree = quote(_json([tuple(p) for p in report.paths]))
    sentences = "".join(f"<p>{escape(line)}</p>" for line in lines)
    return (
        f'<div class="tl-facts">{boxes}</div>{sentences}'
        f'<p class="tl-links"><a class="tl-use" href="./#example=code&amp;tree={tree}">Use in '
        f'Explore</a><a class="tl-link" href="tree#tree={tree}">Link to this tree</a></p>'
    )


def _effects(report: ShapeReport) -> str:
    together, starts = report.joint - report.product, report.replayed - report.joint
    return (
        f"Heads that are right together change the product's estimate by {signed(together)} tokens "
        f"a step; that steps start where the last draft ended changes it by {signed(starts)}."
    )


def _advice(report: ShapeReport, budget: BudgetCurve) -> str:
    idle = [node for node in report.nodes if not node.pays]
    parts = [_idle(len(idle), len(report.nodes))] if report.nodes else []
    if report.next_node is not None and report.next_speedup is not None:
        change = report.next_speedup - report.speedup
        parts.append(f"The best node to add is {report.next_node}: {signed(change)}×.")
    if budget.best:
        parts.append(_best(budget))
    else:
        parts.append("No greedy tree beats plain decoding here.")
    return " ".join(parts)


def _idle(idle: int, nodes: int) -> str:
    if not idle:
        return "Every node pays for its row here."
    verb = "costs more time than it saves" if idle == 1 else "cost more time than they save"
    return f"{idle} of {plural(nodes, 'node')} {verb} here (pale)."


def _best(budget: BudgetCurve) -> str:
    """The best greedy tree, and which others come as near as two samples of texts would differ."""
    most = max(budget.speedups)
    near = [n for n, speedup in enumerate(budget.speedups, start=1) if most - speedup < NEAR]
    others = [str(n) for n in near if n != budget.best]
    sentence = (
        f"Best of the greedy trees: {plural(budget.best, 'node')}, {most:.2f}×, chosen on these "
        "very texts."
    )
    if not others:
        return sentence
    listed = f"{', '.join(others[:-1])} or {others[-1]}" if len(others) > 1 else others[0]
    nodes = "node" if others == ["1"] else "nodes"
    return (
        f"{sentence} With {listed} {nodes} the estimate is less than {NEAR:.2f}× lower: other "
        "texts, or costs measured again, may choose that."
    )


def connect_tree(worker: ModelWorker, demo: gr.Blocks) -> TreePage:
    """Build the Tree lab and wire its components to their handlers."""
    handlers = TreeHandlers(worker)
    page = handlers.page
    few: dict[str, Any] = QUIET | {"concurrency_limit": 8}  # each draws all figures
    outputs = [*page.shown, page.tree]
    for component in (page.source, page.machine, page.batch, page.context):
        component.change(handlers.show, page.asked, page.shown, **few)
    for box in (page.pasted, page.tree):
        box.submit(handlers.show, page.asked, page.shown, **few)
    page.named.input(handlers.name, [page.named, *page.asked], outputs, **few)
    page.widths.submit(handlers.widen, [page.widths, *page.asked], outputs, **few)
    page.greedy.release(handlers.trim, [page.greedy, *page.asked], outputs, **few)
    page.grow.click(handlers.grow, page.asked, [*outputs, page.greedy], trigger_mode="once", **few)
    page.picture.submit(handlers.click, page.asked, outputs, **few)
    page.loading.tick(handlers.tick, None, [page.header, page.loading], **MANY)
    demo.load(handlers.tick, None, [page.header, page.loading], **MANY)
    linked = (ASSETS / "tree_lab" / "permalink.js").read_text(encoding="utf-8")
    demo.load(handlers.opened, page.asked, outputs, js=linked, **few)
    return page
