"""A checkup as one HTML file: it opens offline, and holds no path, no prompt and no text written.

Prompts come in only where they are asked for. Names of models and heads are shortened to their
last part, since a folder's name is a path.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import plotly.graph_objects as go

from explorer.analysis.checkup import Checkup
from explorer.figures.checkup import (
    accuracy_figure,
    confidence_figure,
    kinds_figure,
    ledger_figure,
)
from explorer.figures.checkup_html import facts_html, findings_html
from explorer.records.version import __version__

STYLE = (
    "body{font:16px/1.55 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;"
    "color:#1d2127;background:#fff}h1{font-size:1.6rem}h2{font-size:1.2rem;margin-top:2rem}"
    "table{border-collapse:collapse}td,th{text-align:left;padding:.25rem 1rem .25rem 0;"
    "border-bottom:1px solid #dfe1de}li{margin:.8rem 0}code{background:#f4f5f3;padding:0 .3em}"
)


def checkup_page(checkup: Checkup, prompts: Sequence[str] = ()) -> str:
    """The page of a checkup. `prompts`: shown, where there are any."""
    figures = (
        ledger_figure(checkup.ledger),
        accuracy_figure(checkup.accuracy),
        confidence_figure(checkup.accuracy),
        kinds_figure(checkup.accuracy),
    )
    parts = [
        f"<h1>Heads doctor: {checkup.ledger.measured:.2f}× plain decoding</h1>",
        f"<h2>What costs most</h2>{findings_html(checkup.findings)}",
        f"<h2>The run</h2>{facts_html(checkup)}",
        *_drawn(figures),
        _prompts(prompts),
        f"<p>Medusa Explorer {escape(__version__)}. Every figure was measured in this run; what "
        "is said of a fix is an estimate.</p>",
    ]
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>Heads doctor</title><style>{STYLE}</style></head>"
        f"<body>{''.join(parts)}</body></html>\n"
    )


def _drawn(figures: Sequence[go.Figure]) -> list[str]:
    """The figures; the first brings Plotly along, so that nothing is fetched."""
    return [
        figure.to_html(full_html=False, include_plotlyjs=number == 0, config=CONFIG)
        for number, figure in enumerate(figures)
    ]


CONFIG = {"displaylogo": False, "responsive": True}


def _prompts(prompts: Sequence[str]) -> str:
    if not prompts:
        return ""
    items = "".join(f"<li>{escape(prompt)}</li>" for prompt in prompts)
    return f"<h2>Prompts</h2><ol>{items}</ol>"
