"""A checkup's findings and facts as HTML, for the Heads page and the file. All text is escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from explorer.analysis.checkup import Checkup
from explorer.analysis.diagnosis import Finding
from explorer.figures.checkup_text import HEALTHY, facts_of, findings_of


def findings_html(findings: Sequence[Finding]) -> str:
    """What costs most, in order; or that there is no cause for alarm."""
    items = "".join(
        f"<li><b>{escape(title)}</b> ({escape(costs)})<br>{escape(evidence)}<br>"
        f"<i>{escape(remedy)}</i></li>"
        for title, costs, evidence, remedy in findings_of(findings)
    )
    return f'<ol class="hd-findings">{items}</ol>' if items else f"<p>{escape(HEALTHY)}</p>"


def facts_html(checkup: Checkup) -> str:
    """The run and its heads as a table."""
    rows = "".join(
        f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>"
        for name, value in facts_of(checkup)
    )
    return f'<table class="hd-facts">{rows}</table>'
