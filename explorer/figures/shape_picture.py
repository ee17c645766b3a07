"""A tree's shape as SVG: nodes to remove, and places where a node can be added.

Every mark has its rank path in `data-path`, which the page's script sends back on a click. The
picture holds numbers only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from explorer.figures.tree_layout import tidy
from explorer.records.rank_paths import RankPath

COLUMN, LINE, LEFT, TOP, RADIUS = 96, 24, 40, 20, 7
HIT = 62  # width of what takes a click
MOST_RANK = 9  # that the records keep of a head


def shape_picture(
    paths: Sequence[RankPath], heads: int, values: Mapping[RankPath, tuple[float, bool]]
) -> str:
    """The SVG. `values`: how often a node's path is right, and whether it pays."""
    free = _free_places(paths, heads)
    everyone = [(), *sorted({*paths, *free}, key=lambda path: (len(path), path))]
    place = {path: i for i, path in enumerate(everyone)}
    drawn = tidy([place[path[:-1]] if path else -1 for path in everyone])
    at = {
        path: (LEFT + COLUMN * drawn.columns[i], TOP + LINE * drawn.lines[i])
        for path, i in place.items()
    }
    edges = [_edge(at[path[:-1]], at[path], path in free) for path in everyone if path]
    marks = [_mark(path, at[path], path in free, values.get(path)) for path in everyone]
    width = LEFT + COLUMN * (max(drawn.columns) + 1) + 40
    height = 2 * TOP + LINE * drawn.height
    return (
        f'<svg class="tl-shape" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="group" aria-label="Shape of the tree">{"".join(edges)}{"".join(marks)}</svg>'
    )


def _free_places(paths: Sequence[RankPath], heads: int) -> set[RankPath]:
    """The next rank below every node that has a head below it."""
    tree, free = set(paths), set()
    for parent in [(), *paths]:
        rank = next(r for r in range(len(tree) + 1) if (*parent, r) not in tree)
        if len(parent) < heads and rank <= MOST_RANK:
            free.add((*parent, rank))
    return free


def _edge(start: tuple[int, int], end: tuple[int, int], free: bool) -> str:
    (x1, y1), (x2, y2) = start, end
    middle = (x1 + x2) // 2
    kind = "tl-edge tl-free" if free else "tl-edge"
    return f'<path class="{kind}" d="M{x1} {y1}C{middle} {y1} {middle} {y2} {x2} {y2}"/>'


def _mark(path: RankPath, at: tuple[int, int], free: bool, value: tuple[float, bool] | None) -> str:
    x, y = at
    if not path:
        return f'<rect class="tl-root" x="{x - 6}" y="{y - 6}" width="12" height="12"/>'
    name = ", ".join(map(str, path))
    does = "add" if free else "remove"
    kind = (
        "tl-node tl-free" if free else "tl-node" if value is None or value[1] else "tl-node tl-idle"
    )
    sign = "+" if free else str(path[-1])
    label = "" if value is None else f'<tspan class="tl-share" dx="6">{value[0]:.1%}</tspan>'
    return (
        f'<g class="{kind}" data-path="{",".join(map(str, path))}" data-does="{does}" '
        f'tabindex="0" role="button" aria-label="{does} {name}"><rect class="tl-hit" '
        f'x="{x - 11}" y="{y - 11}" width="{HIT}" height="22"/><circle cx="{x}" cy="{y}" '
        f'r="{RADIUS}"/><text x="{x + 11}" y="{y + 4}">{sign}{label}</text></g>'
    )
