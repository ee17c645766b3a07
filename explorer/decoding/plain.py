"""Plain decoding: one token a step, the baseline of every race."""

from __future__ import annotations

from explorer.decoding.loop import Context, Draft, Stopwatch, bare_root


class PlainDrafter:
    """Drafts nothing: each pass verifies the bare root and yields the next one."""

    def draft(self, context: Context, clock: Stopwatch) -> Draft:
        """The root alone."""
        return bare_root(context.root)
