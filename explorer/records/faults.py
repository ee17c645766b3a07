"""Planted faults: what each breaks, and the record of running the model with one."""

from __future__ import annotations

from explorer.records.record import Record

SOUND = "none"
# By their names: what is wrong, in a few words, and in a sentence.
FAULTS: dict[str, tuple[str, str]] = {
    SOUND: ("no fault", "The engine as it is."),
    "siblings": (
        "siblings are visible",
        "The mask lets a row see every row before it, siblings included, as in a text.",
    ),
    "positions": (
        "wrong positions",
        "A node's position is its row number, not its depth: siblings stand one after the other.",
    ),
    "tokens": (
        "nodes keyed by token",
        "A node is found by its token alone, so one under another parent may be taken.",
    ),
    "own-row": (
        "judged by its own row",
        "A node is accepted if its own row predicts its token; its parent's row should judge it.",
    ),
    "stale-cache": (
        "stale cache after commit",
        "The cache keeps the first rows of the pass, not those of the accepted path.",
    ),
    "residual": (
        "no residual",
        "After a rejection the next token is drawn from p, not from what is left of it, "
        "norm(max(0, p − q)).",
    ),
}


class BitCheck(Record):
    """Hidden states of the accepted rows against those of a plain pass over the same text."""

    rows: int
    differing: int
    first: int | None  # index of the first row that differs among the new tokens


class AuditCheck(Record):
    """Greedy text against greedy plain decoding. `first`: index of the first wrong token."""

    tokens: int
    first: int | None
    wanted: str | None
    got: str | None


class ChiCheck(Record):
    """Sampled tokens against the base model's own probabilities of them.

    Each token's place in its distribution, likeliest first, is uniform if the text is a sample.
    """

    tokens: int
    counts: list[int]
    statistic: float
    p_value: float


class FaultReport(Record):
    """One run with a fault. `bits` None: this backend's rows are not bit-exact to begin with.

    `text`: the greedy text as labels of tokens, written in `steps` steps; `plain`: what it
    should have been.
    """

    fault: str
    model: str
    backend: str
    prompt: str
    tree: str
    plain: list[str]
    text: list[str]
    steps: int
    bits: BitCheck | None
    audit: AuditCheck
    chi: ChiCheck
    caught_by: list[str]

    @property
    def tokens_per_step(self) -> float:
        """Of the greedy text: a fault may cost speed alone."""
        return len(self.text) / self.steps
