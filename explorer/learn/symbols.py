"""The symbols of Learn's formulas: what each means, on hover. One letter means one thing."""

from __future__ import annotations

import re

# By their TeX. Written as in explorer/analysis/formulas.py.
SYMBOLS = {
    r"\alpha": "acceptance rate of one draft",
    "K": "drafts in a chain, or number of heads",
    "E": "expected tokens per step, the base model's own included",
    "S": "speedup if checking all drafts cost as much as one plain pass",
    "S'": "speedup with the measured cost of checking the drafts",
    "C(n)": "cost curve: time of a pass over n rows, divided by that of a pass over one",
    "C": "cost curve: time of a pass over n rows, divided by that of a pass over one",
    "n": "rows of a verify pass: the nodes and the root",
    "m": "accepted drafts of a step",
    r"\tau": "tokens per step, the root included",
    "T_1": "time of a pass of the base model over one row",
    r"T_{\text{draft}}": "time of one pass of whatever drafts",
    r"T_{\text{verify}}": "time of the verify pass",
    r"T_{\text{rest}}": "time of a step outside the passes: choosing, accepting, committing",
    r"T_{\text{heads}}": "time of the heads in a step",
    "N": "parameters of the model",
    "P": "probability",
    "b": "bytes that one parameter takes",
    "W": "memory bandwidth, in bytes a second",
    "F": "arithmetic that the machine can do, in FLOP a second",
    "B": "sequences that are decoded together (batch size)",
    "p": "the base model's probability of a token",
    "q": "the drafter's probability of a token",
    "x": "a token",
    r"\varepsilon": "typical acceptance: the largest probability that is ever asked for",
    r"\delta": "typical acceptance: how much a flat distribution lowers what is asked for",
    "H": "entropy of the base model's distribution",
    "h": "hidden state of the base model at a position",
    "W_1": "matrix of a head's residual block; it starts at zero",
    "W_2": "a head's projection onto the vocabulary; it starts as the LM head",
    "b_1": "bias of a head's residual block",
    "d": "width of the hidden state",
    "V": "number of tokens in the vocabulary",
    "L": "length of the accepted path",
    r"\lambda_k": "weight of head k in the training loss",
    r"\lambda_0": "weight of the heads' loss in Medusa-2",
    r"\mathcal{L}": "training loss",
    r"\mathcal{L}_k": "training loss of head k",
    "k": "number of a head, counted from 1",
    "t": "a position in the text",
    "s_k": "guesses that head k gives at each node (the tree's width at depth k)",
    "a": "how often a guess of this head and rank is right",
}
# Words in a formula, and commands that are no symbols, stay as they are.
_WORDS = r"\\(?:text|mathrm|operatorname|tag|label|begin|end)\*?\{[^{}]*\}"
_COMMAND = r"\\[A-Za-z]+"
_NUMBER = {tex: number for number, tex in enumerate(SYMBOLS)}


def _pattern() -> re.Pattern[str]:
    longest_first = sorted(SYMBOLS, key=len, reverse=True)
    symbols = "|".join(
        re.escape(tex) + ("(?![A-Za-z])" if re.search(r"\\[A-Za-z]+$", tex) else "")
        for tex in longest_first
    )
    return re.compile(f"(?P<symbol>{symbols})|{_WORDS}|{_COMMAND}")


_SYMBOL = _pattern()


def marked(tex: str) -> str:
    r"""TeX in which every known symbol carries its number: `{\htmlData{symbol=0}{\alpha}}`."""

    def mark(found: re.Match[str]) -> str:
        symbol = found["symbol"]
        return f"{{\\htmlData{{symbol={_NUMBER[symbol]}}}{{{symbol}}}}}" if symbol else found[0]

    return _SYMBOL.sub(mark, tex)


def meanings() -> list[list[str]]:
    """Symbol and meaning by their numbers, as a browser needs them."""
    return [[tex, meaning] for tex, meaning in SYMBOLS.items()]
