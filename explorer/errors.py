"""The one exception that reaches people: a sentence that says what went wrong and what to do."""


class ExplorerError(Exception):
    """Bad input or a missing piece. `str(error)` is one clear sentence with the remedy."""
