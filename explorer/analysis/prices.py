"""The cost of a node on this machine: prices for the `auto` tree (decoding/dynamic.py).

Decoding that writes S tokens in the time of a one-row pass would write S·(C(n+1) − C(n)) in the
time that one more row adds to a pass over n rows. So a node is worth verifying if its probability
of being accepted is higher: break-even (Leviathan et al. 2023, arXiv 2211.17192, section 3.3) for
each node in each step.
"""

from __future__ import annotations

from explorer.analysis.cost_curve import CostCurve
from explorer.records.prices import Prices

PRICED_NODES = 64


def node_prices(curve: CostCurve, speedup: float, head_ms: float = 0.0) -> Prices:
    """Prices by the cost curve at one context length.

    `speedup` is S, the expected speedup of the best fixed tree, or 1 if that is slower than
    plain decoding. `head_ms`: one head more, where heads draft one after the other.
    """
    worth = max(speedup, 1.0)
    nodes = min(PRICED_NODES, max(1, curve.rows[-1] - 1))
    return Prices(
        rows=tuple(worth * (curve.at(k + 1) - 1.0) for k in range(nodes + 1)),
        depth=worth * head_ms / curve.one_row_ms,
    )
