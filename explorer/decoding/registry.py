"""Every way to decode, by name. A new method is one file beside this one and one line here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from explorer.decoding.loop import Drafter
from explorer.decoding.medusa import MedusaDrafter
from explorer.decoding.plain import PlainDrafter
from explorer.decoding.tree import Tree
from explorer.errors import ExplorerError
from explorer.models.heads import MedusaHeads


@dataclass(frozen=True)
class Method:
    """A decoding method: what it is, what it needs, how its drafter is made."""

    name: str
    explanation: str
    needs_heads: bool
    make_drafter: Callable[[MedusaHeads | None, Tree], Drafter]


METHODS = {
    method.name: method
    for method in (
        Method(
            "plain",
            "One token per pass of the base model: the baseline.",
            needs_heads=False,
            make_drafter=lambda heads, tree: PlainDrafter(),
        ),
        Method(
            "medusa",
            "Heads on the base model's last hidden state guess several tokens ahead; one pass "
            "over the tree of guesses checks them all.",
            needs_heads=True,
            make_drafter=MedusaDrafter,
        ),
    )
}


def find_method(name: str, heads: MedusaHeads | None) -> Method:
    """The method called `name`. Raises ExplorerError if it is unknown or lacks its heads."""
    method = METHODS.get(name)
    if method is None:
        raise ExplorerError(f"There is no method '{name:.40}': choose one of {', '.join(METHODS)}.")
    if method.needs_heads and heads is None:
        raise ExplorerError(
            f"The method '{name}' needs heads and this model has none: give --heads, or use plain."
        )
    return method
