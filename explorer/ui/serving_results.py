"""What the Serve page shows of measurements: its own, or those that ship."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import gradio as gr

from explorer.figures import serving as charts
from explorer.records.serving import (
    Answer,
    EngineRow,
    LoadFigures,
    ServingRecord,
    Speculation,
    together,
)
from explorer.ui import serving_panels
from explorer.ui.serving_page import ServingPage
from explorer.ui.serving_session import ServingSession
from explorer.ui.serving_steps import choices, steps_message
from explorer.ui.updates import Update


def measured(page: ServingPage, session: ServingSession) -> Update:
    """All that the tab has measured."""
    ours, base = _of(session.speculative), _of(session.plain)
    reported = together([found.speculation for found in ours if found.speculation])
    series = {session.name: reported} if reported else {}
    series |= {f"{row.engine}, {row.shape}": row.speculation for row in session.here}
    return {
        page.figures: table(session),
        page.rows: serving_panels.rows(serving_panels.ROWS_TITLE, rows_of(session)),
        **_charts(page, ours, base, series),
        **_requests(page, session.answers),
    }


def recorded(page: ServingPage, record: ServingRecord) -> Update:
    """The measurements that ship."""
    series = {f"{row.engine}, {row.shape}": row.speculation for row in record.rows}
    return {
        page.figures: serving_panels.recorded(record),
        page.rows: serving_panels.rows(serving_panels.ROWS_RECORDED, record.rows),
        **_charts(page, record.speculative, record.plain, series),
        **_requests(page, answers_of(record)),
    }


def answers_of(record: ServingRecord | None) -> list[Answer]:
    """The request whose steps are recorded, if there is one."""
    return [record.answer] if record and record.answer else []


def table(session: ServingSession) -> str:
    """The figures so far, as HTML."""
    title = f"Measured at {session.info.address}" if session.info else "Measured"
    return serving_panels.figures(title, session.speculative, session.plain)


def rows_of(session: ServingSession) -> list[EngineRow]:
    """This explorer's rows, and the server's on the same prompts."""
    from explorer.serving.rows import server_row

    level = session.level
    figures, plain = session.speculative.get(level), session.plain.get(level)
    if figures is None:
        return list(session.here)
    row = server_row(session.whole_answers(), figures, plain, session.name)
    return [*session.here, *([row] if row else [])]


def _charts(
    page: ServingPage,
    ours: Sequence[LoadFigures],
    base: Sequence[LoadFigures],
    series: Mapping[str, Speculation],
) -> Update:
    return {
        page.acceptance: charts.acceptance_figure(series) if series else None,
        page.gain: charts.gain_figure(ours, base),
        page.latency: charts.latency_figure(ours, base),
    }


def _requests(page: ServingPage, answers: Sequence[Answer]) -> Update:
    listed = choices(answers)
    first = listed[0][1] if listed else None
    return {
        page.request: gr.Dropdown(choices=listed, value=first),
        page.steps: steps_message(answers[first] if first is not None else None),
    }


def _of(figures: Mapping[int, LoadFigures]) -> list[LoadFigures]:
    return [figures[level] for level in sorted(figures)]
