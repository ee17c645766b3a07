"""Runs made up from rank rows: what decoding with a tree would record, with times as one likes."""

from explorer.records.schema import Header, Lane, Settings, Trace, TreeShape
from explorer.records.step import Position, Step, Timings, TopTokens

PROMPT, FIRST_TOKEN, WRONG = 4, 100, 5000
TIMES = {"heads": 1.0, "draft": 0.2, "verify": 12.0, "accept": 0.2, "commit": 0.1, "record": 0.5}


def made_up_run(rows, paths, plain_ms=10.0, times=TIMES, repeats=(), temperature=0.0, probs=0.5):
    """A trace of greedy decoding with the tree `paths` on a text whose heads have these ranks.

    rows: per position the rank of the true token of each head, −1 for a miss. Heads named in
    `repeats` (0-based) give the base model's own next token as their first guess instead.
    """
    heads, length = len(rows[0]), len(rows)
    token = lambda i: FIRST_TOKEN + i  # noqa: E731 - of the text, token 0 being the first root
    positions = [
        Position(
            index=PROMPT - 1 + i,
            base_choice=token(i),
            heads=[_guesses(rows[i][k], token(i + 1 + k), token(i), k in repeats, probs)
                   for k in range(heads)],
        )
        for i in range(length)
    ]  # fmt: skip
    tree, place = set(map(tuple, paths)), {tuple(p): i for i, p in enumerate(paths, start=1)}
    steps, at = [], 0
    while at < length:
        depth = 0
        while depth < heads and tuple(rows[at][: depth + 1]) in tree:
            depth += 1
        accepted = [0, *(place[tuple(rows[at][:d])] for d in range(1, depth + 1))]
        seen = positions[at : at + depth + 1] if at else positions[1 : depth + 1]
        verdicts = ["root", *(_verdict(i, path, accepted, place) for path, i in place.items())]
        steps.append(_step(len(steps), at, accepted, token, verdicts, seen, times))
        at += depth + 1
    return Trace(
        header=_header(heads, positions[0], temperature),
        pieces={},
        trees=[TreeShape(name="made up", paths=[list(path) for path in paths])],
        steps=steps,
        rival=_plain(heads, positions[0], token, at, plain_ms),
    )


def _guesses(rank, true, base_choice, repeat, probs):
    ids = [WRONG + i for i in range(10)]
    if rank >= 0:
        ids[rank] = true
    if repeat:
        ids[0] = base_choice
    return TopTokens(ids=ids, probs=[probs, *[0.01] * 9])


def _plain(heads, first, token, length, plain_ms):
    """The plain lane of the same text."""
    times = {"verify": plain_ms}
    steps = [_step(i, i, [0], token, ["root"], [], times) for i in range(length)]
    header = _header(heads, first, 0.0)
    return Lane(header=header, trees=[TreeShape(name="root", paths=[])], steps=steps)


def _verdict(row, path, accepted, place):
    if row in accepted:
        return "accepted"
    return "rejected" if len(path) == 1 or place[path[:-1]] in accepted else "pruned"


def _step(index, at, accepted, token, verdicts, positions, times):
    depth, n = len(accepted) - 1, len(verdicts)
    return Step(
        index=index,
        context_length=PROMPT + at,
        tree=0,
        token_ids=[1] * n,
        draft_probs=[1.0] * n,
        joint_probs=[1.0] * n,
        base_probs=[1.0] * n,
        base_ranks=[0] * n,
        choices=[0] * n,
        verdicts=verdicts,
        base_top=[TopTokens(ids=[1], probs=[1.0])] * n,
        accepted=accepted,
        emitted=[token(at + i) for i in range(depth + 1)],
        bonus=token(at + depth + 1),
        bonus_prob=1.0,
        positions=positions,
        timings=Timings(**times),
    )


def _header(heads, first, temperature):
    settings = Settings(
        method="medusa", tree="made up", acceptance="sample" if temperature else "greedy",
        temperature=temperature, top_p=1, top_k=0, epsilon=0.09, delta=0.3, seed=0,
        max_new_tokens=64,
    )  # fmt: skip
    return Header(
        created="2026-01-01T00:00:00+00:00", explorer_version="0", model="tiny", heads="tiny",
        num_heads=heads, backend="fp32", device="cpu", versions={}, settings=settings, prompt="p",
        prompt_ids=list(range(PROMPT)), prompt_position=first, prefill_ms=1.0, eos_ids=[],
    )  # fmt: skip
