"""A lab whose model runs in passes of fixed shapes writes down what it writes down eagerly."""

import pytest

from explorer.kernels.graphs import Recordings
from explorer.models.static_pass import StaticPass
from tests.tiny_lab import tiny_lab

TIMES = {"timings", "floor", "reasons"}


def outcomes(trace):
    """All of a trace that is not a time."""
    return [step.model_dump(exclude=TIMES) for step in trace.steps]


@pytest.mark.parametrize(
    ("method", "settings"),
    [
        ("plain", {}),
        ("medusa", {"tree": "cartesian:2,2"}),
        ("medusa", {"tree": "dynamic:5", "temperature": 0.7, "seed": 2}),
        ("medusa", {"tree": "chain:2", "candidates": "drawn", "temperature": 0.9}),
        ("medusa", {"tree": "chain:3", "temperature": 0.9, "acceptance": "typical"}),
        ("hydra", {"tree": "cartesian:2,2"}),
        ("lookahead", {}),
        ("prompt-lookup", {}),
        ("draft-model", {"draft_layers": 1}),
    ],
)
def test_every_method_writes_the_same_trace(method, settings):
    architecture = "hydra" if method == "hydra" else "medusa"
    traces = []
    for static in (False, True):
        lab = tiny_lab(architecture=architecture)
        if static:
            lab.model.static = StaticPass(lab.model, Recordings(None))
        asked = {"method": method, "max_new_tokens": 20} | settings
        traces.append(lab.run("abcabcab", **asked))
    assert traces[0].new_token_ids == traces[1].new_token_ids
    assert outcomes(traces[0]) == outcomes(traces[1])
