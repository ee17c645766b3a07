"""A checkup's findings and facts as HTML, for the Heads page and the file. All text is escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from explorer.analysis.checkup import Checkup
from explorer.analysis.diagnosis_case import Finding
from explorer.analysis.head_report import AccuracyReport, WrongToken
from explorer.figures.checkup_text import HEALTHY, facts_of, findings_of


def findings_html(findings: Sequence[Finding]) -> str:
    """What costs most, in order; or that there is no cause for alarm."""
    items = "".join(
        f"<li><b>{escape(title)}</b> ({escape(costs)})<br>{escape(evidence)}<br>"
        f"<i>{escape(remedy)}</i></li>"
        for title, costs, evidence, remedy in findings_of(findings)
    )
    return f'<ol class="hd-findings">{items}</ol>' if items else f"<p>{escape(HEALTHY)}</p>"


def wrong_html(report: AccuracyReport) -> str:
    """The tokens that each head gets wrong most, as a table."""
    rows = "".join(
        f"<tr><th>head {head.head}</th><td>{_tokens(head.wrong)}</td></tr>"
        for head in report.heads
        if head.wrong
    )
    text = "Missed most: the token that was due, and how often it was missed of how often it came."
    return f'<p>{text}</p><table class="hd-facts">{rows}</table>' if rows else ""


def _tokens(wrong: Sequence[WrongToken]) -> str:
    return ", ".join(
        f"<code>{escape(each.text)}</code>&nbsp;{each.missed}/{each.due}" for each in wrong
    )


def facts_html(checkup: Checkup) -> str:
    """The run and its heads as a table."""
    rows = "".join(
        f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>"
        for name, value in facts_of(checkup)
    )
    return f'<table class="hd-facts">{rows}</table>'
