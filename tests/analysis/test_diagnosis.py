"""The right cause is named first, causes are ordered by cost, and healthy heads raise no alarm."""

import numpy as np
import pytest

from explorer.analysis.cost_curve import CostCurve
from explorer.analysis.diagnosis import diagnose
from explorer.analysis.diagnosis_case import Case, Probe
from explorer.analysis.head_report import accuracy_report
from explorer.analysis.joint_counts import ranked_text
from explorer.analysis.ledger import ledger
from explorer.records.head_facts import HeadFacts
from tests.analysis.made_up_runs import TIMES, made_up_run

SMALL = [(0,), (1,), (0, 0), (0, 0, 0)]
LARGE = [
    *((a,) for a in range(8)),
    *((a, b) for a in range(8) for b in range(6)),
]
HEALTHY, BAD = (0.55, 0.42, 0.36), (0.01, 0.01, 0.01)
FACTS = HeadFacts(
    name="heads", format="own", differences=[], architecture="medusa", kind="draft_vocab",
    num_heads=3, num_blocks=1, parameters=10, bytes=10, base_name="tiny", base_backend="int4",
    base_parameters=100, base_bytes=100, trained_for="tiny", trained_on="its own text",
    trained_backend="bf16", published={"top1": [0.5, 0.35, 0.3]},
)  # fmt: skip


def rows(top1=HEALTHY, length=1500, seed=0):
    """Ranks of heads that are right at rank 0 as often as `top1` says, else at others or never."""
    rng = np.random.default_rng(seed)
    columns = [
        np.where(rng.random(length) < p, 0, rng.choice([-1, -1, 1, 2], size=length)) for p in top1
    ]
    if max(top1) < 0.1:
        columns = [np.where(column > 0, -1, column) for column in columns]
    return np.stack(columns, axis=1).tolist()


def curve(slope):
    sizes = [1, 2, 4, 8, 16, 32, 64]
    ratios = [1 + slope * (n - 1) for n in sizes]
    return CostCurve(context_length=128, rounds=1, one_row_ms=10.0, rows=sizes,
                     milliseconds=[10 * r for r in ratios], ratios=ratios)  # fmt: skip


def case(top1=HEALTHY, tree=SMALL, slope=0.05, times=None, facts=None, repeats=(), **more):
    """A case whose verify passes cost what the curve says."""
    spent = TIMES | {"verify": 10 * (1 + slope * len(tree))} | (times or {})
    run = made_up_run(rows(top1), tree, times=spent, repeats=repeats)
    whole = spent["heads"] + spent["verify"] + spent["draft"] + spent["accept"] + spent["commit"]
    rest = spent["draft"] + spent["accept"] + spent["commit"]
    fields = {
        "heads": FACTS.model_copy(update=facts or {}),
        "ledger": ledger([run]),
        "accuracy": accuracy_report([run], ["chat"]),
        "texts": [ranked_text(run)],
        "curve": curve(slope),
        "overhead": (spent["heads"] + rest) / 10,
        "tree": tree,
        "identical": 1,
        "prompts": 1,
        "shares": {"heads": spent["heads"] / whole, "bookkeeping": rest / whole},
    }
    return Case(**fields | more)


def test_healthy_heads_raise_no_alarm():
    assert diagnose(case()) == []


SPOILED = {
    "tree-too-large": {"tree": LARGE, "slope": 0.1},
    "heads-untrained": {"top1": BAD, "repeats": (0, 1, 2)},
    "heads-of-another-base": {"top1": BAD, "facts": {"trained_for": "another"}},
    "foreign-text": {"top1": (0.25, 0.2, 0.15)},
    "base-quantised": {"top1": (0.25, 0.2, 0.15), "facts": {"base_backend": "nf4"}},
    "chat-template": {"probes": [Probe("raw_prompt", "the chat template", 1.4, 2.1)]},
    "temperature-too-high": {"probes": [Probe("temperature", "greedy decoding", 1.4, 2.1)]},
    "heads-heavy": {"times": {"heads": 9.0}, "facts": {"kind": "own", "bytes": 40}},
    "overhead": {"times": {"draft": 3.0, "accept": 2.0}},
    "precision-ties": {"identical": 0},
}


@pytest.mark.parametrize("cause", SPOILED)
def test_the_right_cause_is_named_first(cause):
    found = diagnose(case(**SPOILED[cause]))
    assert found[0].cause == cause
    assert found[0].evidence
    assert found[0].remedy
    assert found[0].costs > 0 or cause == "precision-ties"


@pytest.mark.parametrize(
    ("heads_ms", "draft_ms", "order"),
    [(12.0, 4.0, ["heads-heavy", "overhead"]), (9.0, 14.0, ["overhead", "heads-heavy"])],
)
def test_two_causes_at_once_are_ordered_by_what_they_cost(heads_ms, draft_ms, order):
    facts = {"bytes": 40, "kind": "own"}
    found = diagnose(case(times={"heads": heads_ms, "draft": draft_ms}, facts=facts))
    assert [finding.cause for finding in found if finding.cause in order] == order
    assert found[0].cause == order[0]
    assert [finding.costs for finding in found] == sorted((f.costs for f in found), reverse=True)


@pytest.mark.parametrize("setting", ["temperature", "raw_prompt"])
@pytest.mark.parametrize("top1", [(0.05, 0.04, 0.03), (0.2, 0.15, 0.1)])
def test_a_setting_that_explains_what_heads_miss_is_named_and_not_the_heads(setting, top1):
    found = diagnose(case(top1=top1, probes=[Probe(setting, "the other", 1.1, 1.8)]))
    named = {finding.cause for finding in found}
    assert not named & {"foreign-text", "heads-of-another-base"}
    assert named & {"temperature-too-high", "chat-template"}


def test_heads_of_another_base_are_named_at_any_temperature():
    probe = Probe("temperature", "greedy decoding", 1.01, 1.02)
    found = diagnose(case(top1=BAD, probes=[probe], facts={"trained_for": "another"}))
    assert found[0].cause == "heads-of-another-base"


def test_a_small_dip_on_few_positions_is_no_drift():
    dipped = case(top1=(0.33, 0.3, 0.25))
    short = [run[:60] for run in [rows((0.33, 0.3, 0.25))]]
    few = made_up_run(short[0], SMALL)
    assert "foreign-text" in {found.cause for found in diagnose(dipped)}
    fewer = case(accuracy=accuracy_report([few], ["chat"]))
    assert "foreign-text" not in {found.cause for found in diagnose(fewer)}


@pytest.mark.parametrize(("projections", "named"), [(30, "--heads-dtype nf4"), (3, "--num-heads")])
def test_heavy_projections_are_distinguished_from_heavy_blocks(projections, named):
    facts = {"bytes": 40, "projection_bytes": projections}
    found = diagnose(case(times={"heads": 9.0}, facts=facts))
    assert found[0].cause == "heads-heavy"
    assert ("projection" in found[0].title) == (projections == 30)
    assert named in found[0].remedy
