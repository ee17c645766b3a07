"""Plain decoding: one token a step, the baseline of every race."""

from __future__ import annotations

from explorer.decoding.drafter import Context, Draft, Drafter, bare_root
from explorer.decoding.registry import DrafterInputs
from explorer.records.settings import DecodeSettings


def make_drafter(inputs: DrafterInputs, settings: DecodeSettings) -> Drafter:
    """The drafter of a run."""
    return PlainDrafter()


class PlainDrafter(Drafter):
    """Drafts nothing: each pass verifies the bare root and yields the next one."""

    def draft(self, context: Context) -> Draft:
        """The root alone."""
        return bare_root(context.root)
