"""Pure functions from trace records to Plotly figures; they serve the page and notebooks."""

from explorer.figures.lengths import lengths_figure
from explorer.figures.mask import mask_figure
from explorer.figures.race import race_figure
from explorer.figures.tree import tree_figure

__all__ = ["lengths_figure", "mask_figure", "race_figure", "tree_figure"]
