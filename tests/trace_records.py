"""Small trace records to build runs from, and a cache of one's own."""

import pytest

from explorer.records.schema import Header, Lane, Settings, Trace, TreeShape
from explorer.records.step import Step, Timings


def make_step(index=0, emitted=(1,), verdicts=("root",), tree=0, **timings):
    n = len(verdicts)
    return Step(
        index=index,
        context_length=10,
        tree=tree,
        token_ids=[1] * n,
        draft_probs=[1.0] * n,
        joint_probs=[1.0] * n,
        base_probs=[1.0] * n,
        base_ranks=[0] * n,
        choices=[],
        verdicts=list(verdicts),
        base_top=[],
        accepted=[i for i, v in enumerate(verdicts) if v in ("root", "accepted")],
        emitted=list(emitted),
        bonus=None,
        bonus_prob=None,
        positions=[],
        timings=Timings(**timings),
    )


@pytest.fixture
def step():
    return make_step


@pytest.fixture
def shape():
    return lambda *paths: TreeShape(name="test", paths=[list(path) for path in paths])


def _make_trace(prompt_ids, steps, prompt_position=None, num_heads=2, eos_ids=(), **more):
    settings = Settings(
        method="medusa",
        tree="auto",
        acceptance="greedy",
        temperature=0,
        top_p=1,
        top_k=0,
        epsilon=0.09,
        delta=0.3,
        seed=0,
        max_new_tokens=64,
    )
    header = Header(
        created="2025-01-01T00:00:00+00:00",
        explorer_version="0",
        model="tiny",
        heads="tiny",
        num_heads=num_heads,
        backend="fp32",
        device="cpu",
        versions={},
        settings=settings,
        prompt="",
        prompt_ids=prompt_ids,
        prompt_position=prompt_position,
        prefill_ms=1.0,
        eos_ids=list(eos_ids),
    )
    trees = more.pop("trees", [TreeShape(name="root", paths=[])])
    return Trace(header=header, pieces={}, trees=trees, steps=steps, **more)


def with_rival(trace, steps):
    """The trace of a race against a lane of these steps; no lane for None."""
    if steps is None:
        return trace.model_copy(update={"rival": None})
    rival = trace.rival or Lane(
        header=trace.header, trees=[TreeShape(name="root", paths=[])], steps=[]
    )
    return trace.model_copy(update={"rival": rival.model_copy(update={"steps": steps})})


@pytest.fixture
def make_trace():
    return _make_trace


@pytest.fixture
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("MEDUSA_EXPLORER_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"
