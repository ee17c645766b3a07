"""How figures are written: thousands grouped, as many digits as mean something."""

from __future__ import annotations

NONE = "–"


def count(value: int) -> str:
    """12,345 (with a thin space)."""
    return f"{value:,}".replace(",", "\u202f")


def plural(value: int, noun: str) -> str:
    """`1 step`, `2 steps`."""
    return f"{count(value)} {noun}" + ("" if value == 1 else "s")


def signed(value: float) -> str:
    """+0.066 or −0.108."""
    return f"{value:+.3f}".replace("-", "−")


def ratio(value: float | None) -> str:
    """1.31, or – where nothing was measured."""
    return NONE if value is None else f"{value:.2f}"


def rate(value: float | None) -> str:
    """61.2 tokens per second; whole numbers from a hundred on."""
    if value is None:
        return NONE
    return f"{value:.1f}" if value < 100 else count(round(value))


def probability(value: float) -> str:
    """0.62; smaller than a hundredth with two digits; never a false zero or one."""
    if value == 0 or value >= 0.995:
        return "0" if value == 0 else ("1" if value == 1 else "over 0.99")
    if value < 0.0001:
        return "under 0.0001"
    return f"{value:.2f}" if value >= 0.01 else f"{value:.2g}"


def ordinal(value: int) -> str:
    """1st, 2nd, 3rd, 4th …, 11th."""
    suffix = "th" if value % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(value % 10)
    return f"{count(value)}{suffix or 'th'}"
