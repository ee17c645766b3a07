"""A fake engine whose lanes always say the same, and how a test runs a command over it."""

import json
from types import SimpleNamespace

from explorer.commands import cli
from explorer.records.continuation import Continuation
from explorer.records.errors import ExplorerError
from explorer.records.events import RunStarted, StepRecorded
from explorer.records.methods import METHODS
from explorer.records.schema import Header, Piece, Settings, Step, Timings, TreeShape

EOS = 9
EMITTED = [[1, 2], [3], [4, EOS]]
TOKENS = [token for step in EMITTED for token in step]
PIECES = {
    1: Piece(text="Hi"),
    2: Piece(text=None, bytes="f09f"),
    3: Piece(text=None, bytes="9982"),
    4: Piece(text="!\x1b"),
    EOS: Piece(text="<|end|>"),
}
CHAIN = TreeShape(name="chain:1", paths=[[0]])


def header(settings):
    return Header(
        created="2026-01-01T00:00:00Z",
        explorer_version="0",
        model="fake",
        heads="heads",
        num_heads=1,
        backend="int4",
        device="cpu",
        versions={},
        settings=Settings(**settings.model_dump() | {"acceptance": settings.rule}),
        prompt="p",
        prompt_ids=[7],
        prompt_position=None,
        prefill_ms=5.0,
        eos_ids=[EOS],
    )


def step_of(index, emitted):
    n = 2
    return Step(
        index=index,
        context_length=1 + index,
        tree=0,
        token_ids=[emitted[0], 5],
        draft_probs=[1.0] * n,
        joint_probs=[1.0] * n,
        base_probs=[1.0] * n,
        base_ranks=[0] * n,
        choices=[],
        verdicts=["root", "accepted" if len(emitted) > 1 else "rejected"],
        base_top=[],
        accepted=list(range(len(emitted))),
        emitted=emitted,
        bonus=None,
        bonus_prob=None,
        positions=[],
        timings=Timings(verify=10.0, record=100.0),
    )


class FakeLab:
    description = "Fake · int4 · CPU"
    method = "medusa"

    def __init__(self, plain=TOKENS):
        self.notes = ["A calm note."]
        self.model = SimpleNamespace(tuned="lossless with respect to the tuned model, not to fake")
        self.heads = "the heads"
        self.plain = plain
        self.asked = []

    def decode(self, prompt, settings, cancel=None):
        self.asked.append((prompt, settings))
        if settings.method not in METHODS:
            raise ExplorerError(f"There is no method '{settings.method}'.")
        print("a library's chatter on stdout")
        yield RunStarted(header=header(settings), pieces={})
        for index, emitted in enumerate(EMITTED):
            trees = [CHAIN] if index == 0 else []
            yield StepRecorded(step=step_of(index, emitted), pieces=PIECES, trees=trees)

    def continuation(self, trace):
        return Continuation(trace.header, trace.new_token_ids)

    def compare(self, prompt, settings, methods, cancel=None):
        for method in methods:
            lane = settings.model_copy(update={"method": method})
            if method != "plain":
                yield from ((method, event) for event in self.decode(prompt, lane))
                continue
            yield method, RunStarted(header=header(lane), pieces=PIECES)
            for index, token in enumerate(self.plain):
                step = step_of(index, [token])
                trees = [CHAIN] if index == 0 else []
                yield method, StepRecorded(step=step, pieces={}, trees=trees)


def run_json(capsys, *argv):
    assert cli.main([*argv, "--json"]) == 0
    out = capsys.readouterr()
    assert out.out.count("\n") == 1
    return json.loads(out.out), out.err


def refused(capsys, *argv):
    """The one line on stderr of a command that ends with status 2."""
    try:
        status = cli.main(list(argv))
    except SystemExit as leaving:
        status = leaving.code
    out = capsys.readouterr()
    assert status == 2
    assert out.out == ""
    lines = [line for line in out.err.splitlines() if line and "…" not in line]
    lines = [line for line in lines if line not in ("Fake · int4 · CPU", "A calm note.")]
    assert len(lines) == 1, out.err
    assert "Traceback" not in out.err
    return lines[0]
