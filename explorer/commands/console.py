"""The output of a command: the result on stdout, everything else on stderr."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from tqdm import tqdm


class Console:
    """The two streams of a command. Made before stdout is redirected."""

    def __init__(self, json: bool) -> None:
        self.json = json
        self._stdout = sys.stdout
        self._streamed = False
        self._loading = ""

    @property
    def interactive(self) -> bool:
        """True if a person reads stdout on a terminal."""
        return not self.json and self._stdout.isatty()

    def say(self, text: str) -> None:
        """One line for the user, on stderr."""
        tqdm.write(text, file=sys.stderr)

    def stream(self, text: str) -> None:
        """A part of the result as soon as it is known; nothing with --json."""
        if not self.json:
            self._streamed = True
            print(_printable(text, self._stdout), end="", file=self._stdout, flush=True)

    def bar(self, total: int | None, unit: str, streams: bool = False) -> tqdm:
        """A progress bar on stderr; silent if stderr is not a terminal.

        `streams`: text streams to stdout meanwhile, so on a terminal a bar would cut into it.
        """
        hidden = True if streams and self.interactive else None
        return tqdm(total=total, unit=unit, file=sys.stderr, disable=hidden, leave=False)

    @contextmanager
    def share(self, name: str) -> Iterator[Callable[[str, float | None], None]]:
        """A bar from 0 to 100 %, as a callback with the present work and its progress."""
        form = "{desc} {percentage:3.0f}%|{bar}| {elapsed}"
        with tqdm(
            total=1.0, desc=name, bar_format=form, file=sys.stderr, disable=None, leave=False
        ) as bar:

            def progress(text: str, fraction: float | None = None) -> None:
                bar.set_description_str(f"{name}: {text}", refresh=False)
                bar.update(max(0.0, (fraction or 0.0) - bar.n))

            yield progress

    def loading(self, text: str, fraction: float | None = None) -> None:
        """The progress of loading: one line on stderr for each new piece of work."""
        action = text.partition(" (")[0]
        if action != self._loading:
            self._loading = action
            self.say(f"{action} …")

    def result(self, result: dict[str, Any], render: Callable[[dict[str, Any]], str]) -> None:
        """Print the result: one JSON object, or text."""
        if self.json:
            # ASCII and no NaN: every JSON reader accepts it, with any encoding of the terminal.
            print(json.dumps(_finite(result), allow_nan=False), file=self._stdout, flush=True)
            return
        if self._streamed:
            print(file=self._stdout)
        print(_printable(render(result), self._stdout), file=self._stdout, flush=True)


def table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Text columns: the first aligned left, the others right."""
    lines = [list(header), *(list(row) for row in rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def number(value: float | None, digits: int = 2, unit: str = "") -> str:
    """A figure as text; a dash if nothing was measured."""
    return "–" if value is None else f"{value:.{digits}f}{unit}"


def _printable(text: str, stream: Any) -> str:
    encoding = getattr(stream, "encoding", None) or "utf-8"
    return text.encode(encoding, "replace").decode(encoding, "replace")


def _finite(value: Any) -> Any:
    """The same value with infinities and NaN as None: JSON has neither."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value
