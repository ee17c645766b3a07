"""The one exception that reaches people: a sentence that says what went wrong and what to do."""


class ExplorerError(Exception):
    """Bad input or a missing piece. `str(error)` is one clear sentence with the remedy."""

    def _render_traceback_(self) -> list[str]:
        """What a notebook shows: the sentence, without a traceback."""
        return [f"ExplorerError: {self}"]
