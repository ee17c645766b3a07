"""What the Serve page says of a server and its figures, in sentences with numbers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from explorer.records.numbers import count, plural, rate, ratio
from explorer.records.serving import EngineRow, LoadFigures, Percentiles, ServerInfo, together

SAME = 0.1  # of a ratio of two single measurements: less may be the machine's doing
RESPONSES = "from each response"
COUNTERS = "from the server's counters, which count whatever else it served too"


def server_words(info: ServerInfo) -> str:
    """What answers at an address, and how it says that it drafts."""
    engine = info.engine or "An OpenAI-compatible server"
    more = f" and {plural(len(info.models) - 1, 'other model')}" if len(info.models) > 1 else ""
    if info.method is not None:
        drafts = f"It reports speculative decoding by {info.method}."
    elif info.counts_drafts:
        drafts = "It counts drafts, but does not report which method makes them."
    else:
        drafts = "It counts no drafts: it does not speculate, or does not say how that goes."
    return f"{engine} serves {info.models[0]}{more}. {drafts}"


def acceptance_words(loads: Sequence[LoadFigures]) -> str | None:
    """Tokens per step of all loads together, and where that was read; None where the server does
    not report it."""
    found = [(one, load.source) for load in loads if (one := load.speculation) and one.steps]
    whole = together([one for one, _ in found])
    if whole is None:
        return None
    source = COUNTERS if any(source == "counters" for _, source in found) else RESPONSES
    return (
        f"{ratio(whole.tokens_per_step)} tokens per step over {plural(whole.steps, 'step')}, "
        f"{source}."
    )


def gains(
    speculative: Sequence[LoadFigures], plain: Sequence[LoadFigures]
) -> list[tuple[int, float]]:
    """Requests at a time, and tokens per second over the baseline's; where both were measured."""
    base = {found.concurrency: found.tokens_per_second for found in plain}
    pairs = [(f.concurrency, f.tokens_per_second, base.get(f.concurrency)) for f in speculative]
    return sorted((level, ours / theirs) for level, ours, theirs in pairs if ours and theirs)


def gain_words(speculative: Sequence[LoadFigures], plain: Sequence[LoadFigures]) -> str | None:
    """What speculation gains, with both speeds, and how that changes with the load."""
    found = gains(speculative, plain)
    if not found:
        return None
    level, gain = found[0]
    ours, theirs = (
        next(f.tokens_per_second for f in some if f.concurrency == level)
        for some in (speculative, plain)
    )
    first = (
        f"{ratio(gain)}× the baseline at {plural(level, 'request')} at a time: {rate(ours)} "
        f"against {rate(theirs)} tokens/s"
    )
    if len(found) == 1:
        return f"{first}."
    rest = ", ".join(f"{ratio(gain)}× at {level}" for level, gain in found[1:])
    falls = all(after < before + SAME for (_, before), (_, after) in pairwise(found))
    slower = next((level for level, gain in found if gain < 1 - SAME), None)
    fades = ""
    if falls and found[-1][1] < gain - SAME:
        fades = f"{'The gain fades' if gain > 1 + SAME else 'Speculation loses'} with the load. "
    pays = "" if slower is None else f" From {count(slower)} at a time it is a slowdown."
    return f"{fades}{first}; {rest}.{pays}"


def milliseconds(times: Percentiles | None) -> str:
    """`41 / 55 / 80`: half, nine tenths and 99 hundredths of the times lie at or below."""
    if times is None:
        return "–"
    return " / ".join(_ms(seconds) for seconds in (times.p50, times.p90, times.p99))


def _ms(seconds: float) -> str:
    value = 1000 * seconds
    return f"{value:.1f}" if value < 10 else count(round(value))


def difference_words(rows: Sequence[EngineRow]) -> str | None:
    """Why a tree here and a chain there differ on the same heads; None without one of each."""
    chain = next((row for row in rows if row.shape.startswith("a chain")), None)
    tree = next((row for row in rows if row.shape in ("auto", "fixed")), None)
    if chain is None or tree is None:
        return None
    ours, theirs = tree.speculation, chain.speculation
    per_step = [found.drafted / found.steps for found in (ours, theirs)]
    return (
        f"{tree.engine} verifies {ratio(per_step[0])} guesses in a step, those expected to be "
        f"worth their row there, whichever guess of a head they are; {chain.engine} takes each "
        f"head's first guess only, always {per_step[1]:.0f}, and one miss ends the step. They "
        f"write {ratio(ours.tokens_per_step)} and {ratio(theirs.tokens_per_step)} tokens per step. "
        "Seconds differ for other reasons: weights, kernels and scheduling are not the same."
    )
