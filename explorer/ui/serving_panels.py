"""The tables and sentences of the Serve page, as HTML. Whatever comes from outside is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape

from explorer.figures import serving_words
from explorer.records.numbers import NONE, count, rate, ratio
from explorer.records.serving import EngineRow, LoadFigures, ServingRecord
from explorer.records.text import encodable

ABOUT = (
    "The same heads on a larger engine: export them, start vLLM, and watch from here what it "
    "accepts and what it gains."
)
COMMANDS = "python -m explorer export --to vllm served\nsh served/serve.sh"
PUBLIC = (
    "This host opens no address: below are figures recorded from a real server. Start the app on "
    "your own machine to watch one."
)
REST = (
    "Write a server's address and press Check connection or Run. Until then the figures below are "
    "recorded ones."
)
ROWS_TITLE = "The same heads, tree here and chain there"
ROWS_RECORDED = f"{ROWS_TITLE} (recorded)"
ROWS_SECONDS = "Tokens per second: one request at a time, without the time to its first token."
LEVELS = ("requests at a time", "a load asks again as soon as an answer is whole")
TIMES_SHOWN = (
    "Each time is given three times: half, nine tenths and 99 hundredths of what was measured lie "
    "at or below it."
)
TIMES = "half, nine tenths and 99 hundredths lie at or below"
COLUMNS = (
    LEVELS,
    ("tokens/s", "of all answers together, time to the first token included"),
    ("baseline", "tokens/s of the server without speculation"),
    ("speedup", "tokens/s over the baseline's"),
    ("tokens per step", "1 + accepted drafts per step"),
    ("first token, ms", TIMES),
    ("between arrivals, ms", f"the tokens of a step arrive together; {TIMES}"),
    ("per token, ms", f"after the first token, by request; {TIMES}"),
    ("answers", "complete ones, and failed ones"),
)
ROWS = (
    ("engine", "the same heads everywhere"),
    ("verifies", "what a step checks"),
    ("tokens per step", "1 + accepted drafts per step"),
    ("accepted by position", "of all steps, those that accepted the guess at depth 1, 2, …"),
    ("tokens/s", "one request at a time, after its first token"),
    ("plain", "tokens/s of the same engine without speculation"),
    ("speedup", "over plain decoding on the same engine"),
    ("steps", "counted"),
)


def introduction(public: bool) -> str:
    """What the page is for, and the commands that it starts from."""
    return (
        f'<div class="vx-about"><p>{escape(ABOUT)}{f" {escape(PUBLIC)}" if public else ""}</p>'
        f"<pre>{escape(COMMANDS)}</pre></div>"
    )


def figures(
    title: str,
    speculative: Mapping[int, LoadFigures],
    plain: Mapping[int, LoadFigures],
) -> str:
    """The table of a measurement, a line for each number of requests at a time."""
    levels = sorted({*speculative, *plain})
    sentences = [serving_words.gain_words(list(speculative.values()), list(plain.values()))]
    if speculative:
        sentences.append(serving_words.acceptance_words(list(speculative.values())))
    sentences.append(TIMES_SHOWN)
    lines = [_line(level, speculative.get(level), plain.get(level)) for level in levels]
    return _card(title, filter(None, sentences), COLUMNS, lines)


def _line(level: int, ours: LoadFigures | None, base: LoadFigures | None) -> list[str]:
    shown = ours or base
    assert shown is not None  # a level is listed because one of them has it
    speed = ours.tokens_per_second if ours else None
    plain = base.tokens_per_second if base else None
    failed = f" ({count(shown.failed)} failed)" if shown.failed else ""
    steps = ours.speculation.tokens_per_step if ours and ours.speculation else None
    return [
        str(level),
        rate(speed),
        rate(plain),
        f"{ratio(speed / plain)}×" if speed and plain else NONE,
        ratio(steps),
        serving_words.milliseconds(shown.first_token),
        serving_words.milliseconds(shown.gap),
        serving_words.milliseconds(shown.per_token),
        f"{count(shown.requests)}{failed}",
    ]


def recorded(record: ServingRecord) -> str:
    """The table of the figures that ship, and what they were measured on."""
    title = (
        f"Recorded on {record.made}: {record.engine}, {record.model}, {record.heads}, "
        f"{record.machine}"
    )
    ours, base = ({f.concurrency: f for f in some} for some in (record.speculative, record.plain))
    return figures(title, ours, base)


def rows(title: str, found: Sequence[EngineRow]) -> str:
    """One engine against the other, and why they differ."""
    if not found:
        return ""
    lines = [
        [
            row.engine,
            row.shape,
            ratio(row.speculation.tokens_per_step),
            " ".join(f"{share:.0%}" for share in row.speculation.shares) or NONE,
            rate(row.tokens_per_second),
            rate(row.plain_tokens_per_second),
            f"{ratio(row.speedup)}×" if row.speedup else NONE,
            count(row.speculation.steps),
        ]
        for row in found
    ]
    why = serving_words.difference_words(found)
    return _card(title, [*([why] if why else []), ROWS_SECONDS], ROWS, lines)


def _card(
    title: str,
    sentences: Iterable[str],
    columns: Sequence[tuple[str, str]],
    lines: Iterable[Sequence[str]],
) -> str:
    heads = "".join(
        f'<th scope="col" title="{escape(about)}">{escape(name)}</th>' for name, about in columns
    )
    body = "".join(
        f"<tr>{''.join(f'<td>{_text(cell)}</td>' for cell in line)}</tr>" for line in lines
    )
    words = "".join(f"<p>{_text(sentence)}</p>" for sentence in sentences)
    return (
        f'<section class="vx-card"><h2>{_text(title)}</h2>{words}'
        f'<div class="vx-scroll" tabindex="0" role="region" aria-label="{_text(title)}">'
        f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div></section>"
    )


def _text(text: str) -> str:
    return escape(encodable(text))
