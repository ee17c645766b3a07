"""What a node costs on this machine: the prices of the `auto` tree's nodes (decoding/dynamic.py).

Decoding that writes S tokens in the time of a one-row pass would write S·(C(n+1) − C(n)) in the
time that one more row adds to a pass over n rows. So a node is worth verifying if the chance that
it is accepted is higher: break-even (Leviathan et al. 2023, arXiv 2211.17192, section 3.3), asked
of each node in each step.
"""

from __future__ import annotations

from explorer.analysis.cost_curve import CostCurve
from explorer.decoding.dynamic import Prices

MAX_NODES = 64


def node_prices(curve: CostCurve, speedup: float, head_ms: float = 0.0) -> Prices:
    """Prices by the cost curve at one context length.

    `speedup` is S, what the best fixed tree is expected to reach; where that loses, plain
    decoding's 1 takes its place. `head_ms`: one head more, where heads draft one after the other.
    """
    worth = max(speedup, 1.0)
    nodes = min(MAX_NODES, max(1, curve.rows[-1] - 1))
    return Prices(
        rows=tuple(worth * (curve.at(k + 1) - 1.0) for k in range(nodes + 1)),
        depth=worth * head_ms / curve.one_row_ms,
    )
