"""What a trace does for its user in Python: open, save, and show itself in a notebook.

Records know nothing of figures, so a Trace gets these methods from here: `attach` is called when
`explorer` hands out its first name. Plotly and pandas are imported when a figure or a table is
asked for.
"""

# pyright: reportGeneralTypeIssues=false
# for `self`: the methods become those of a Trace

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from explorer.records.errors import ExplorerError
from explorer.records.files import read_trace, write_trace
from explorer.records.schema import Trace

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go


class NotebookViews:
    """The methods that `attach` gives a Trace.

    Steps are counted from 0, as in `trace.steps`; −1 is the last.
    """

    @classmethod
    def open(cls, path: str | Path) -> Trace:
        """Read a trace that was saved. Raises ExplorerError for a file that is none."""
        return read_trace(Path(path).expanduser())

    def save(self: Trace, path: str | Path) -> Path:
        """Write the trace (by habit to a `.json.gz` file) and return the path.

        Raises ExplorerError if the file cannot be written.
        """
        from explorer.analysis.speedup import with_figures

        return write_trace(with_figures(self), Path(path).expanduser())

    def figure_tree(self: Trace, step: int, selected: int | None = None) -> go.Figure:
        """The candidate tree of a step and what became of it; `selected` is a row to ring."""
        from explorer.figures.tree import tree_figure
        from explorer.figures.view import step_view

        return tree_figure(step_view(self, step), selected)

    def figure_mask(self: Trace, step: int) -> go.Figure:
        """The tree-attention mask of a step: which rows of the verify pass a row sees."""
        from explorer.figures.mask import mask_figure
        from explorer.figures.view import step_view

        return mask_figure(step_view(self, step))

    def figure_lengths(self: Trace, selected: int | None = None) -> go.Figure:
        """Tokens that each step added; a band marks the step `selected`."""
        from explorer.figures.lengths import lengths_figure

        return lengths_figure(self.steps, selected)

    def figure_race(self: Trace) -> go.Figure:
        """Both lanes of a race on one clock, with their speed; one lane if there was no race."""
        from explorer.figures.race import race_figure

        return race_figure(self)

    def to_dataframe(self: Trace, per: Literal["node", "step"] = "node") -> pd.DataFrame:
        """A pandas table: a row per row of every verify pass ("node"), or per step ("step").

        The columns are explained in explorer/figures/tables.py. Raises ExplorerError for another
        `per`.
        """
        from explorer.figures.tables import node_table, step_table

        tables = {"node": node_table, "step": step_table}
        if per not in tables:
            raise ExplorerError(f"There is no table per {per!r:.40}: choose 'node' or 'step'.")
        return tables[per](self)

    def _repr_html_(self: Trace) -> str:
        from explorer.figures.card import trace_card

        return trace_card(self)


def attach() -> None:
    """Give Trace the methods of NotebookViews."""
    for name, method in vars(NotebookViews).items():
        if callable(method) or isinstance(method, classmethod):
            setattr(Trace, name, method)
