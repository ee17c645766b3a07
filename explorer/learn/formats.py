"""How numbers stand in a text: the filters that its placeholders may use."""

from __future__ import annotations

from datetime import datetime

from explorer.records.numbers import count, plural, probability, rate, ratio

_UNITS = ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "KB"))


def percent(value: float) -> str:
    """47 %, 0.61 %, 99.7 %: more digits where a whole number would say little, or all."""
    shown = 100 * value
    if abs(shown) < 10:
        return f"{shown:.2g}\u202f%"
    return f"{shown:.1f}\u202f%" if 99 < shown < 100 else f"{shown:.0f}\u202f%"


def size(value: float) -> str:
    """Bytes as 140 GB, 35 GB, 2.2 MB (powers of ten)."""
    for unit, name in _UNITS:
        if value >= 0.9995 * unit:
            return f"{significant(value / unit)}\u202f{name}"
    return f"{significant(value)}\u202fbytes"


def significant(value: float, digits: int = 3) -> str:
    """Three significant digits, without an exponent: 0.0123, 4.57, 313, 12 300."""
    if value == 0:
        return "0"
    rounded = float(f"{value:.{digits}g}")
    if abs(rounded) >= 10 ** (digits - 1):
        return count(round(rounded))
    return f"{rounded:.{digits}g}"


def day(stamp: str) -> str:
    """1 December 2026, of 2026-12-01 or a whole time stamp."""
    made = datetime.fromisoformat(stamp)
    return f"{made.day} {made:%B %Y}"


def millions(parameters: float) -> str:
    """Parameters as 148M or 7B."""
    if parameters >= 1e9:
        return f"{significant(parameters / 1e9, 2)}B"
    return f"{significant(parameters / 1e6)}M"


FILTERS = {
    "count": count,
    "plural": plural,
    "probability": probability,
    "rate": rate,
    "ratio": ratio,
    "percent": percent,
    "size": size,
    "significant": significant,
    "millions": millions,
    "day": day,
}
