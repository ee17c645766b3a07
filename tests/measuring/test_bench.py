"""The benchmark: the whole of it on a tiny model."""

import threading

import pytest

from explorer.measuring import bench as bench_module
from explorer.measuring.bench import bench
from explorer.records.errors import ExplorerError
from tests.tiny_lab import tiny_lab

PROMPTS = [
    {"id": "a", "category": "code", "prompt": "def f"},
    {"id": "b", "category": "chat", "prompt": "hello there"},
    {"id": "c", "category": "chat", "prompt": "tell me"},
]


@pytest.fixture(scope="module")
def lab():
    return tiny_lab()


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(bench_module, "WIDTHS", (1, 4))


def test_the_whole_benchmark(lab, quick):
    said = []
    report = bench(
        lab, PROMPTS, max_new_tokens=12, reference=True, progress=lambda *w: said.append(w)
    )
    assert report.prompts == report.identical_prompts == 3
    assert set(report.methods) == {"plain", "medusa"}
    assert report.methods["plain"].tokens == report.methods["medusa"].tokens == 36
    assert report.methods["plain"].tokens_per_step == 1
    assert report.methods["medusa"].steps < 36  # tiny models repeat themselves; some drafts hold
    assert report.speedup == report.methods["medusa"].speedup > 0
    assert report.half_width > 0
    assert {name: c.prompts for name, c in report.per_category.items()} == {"code": 1, "chat": 2}
    assert [o.nodes for o in report.overhead] == [2, 64]
    for overhead in report.overhead:
        assert overhead.shares.verify > 0
        assert overhead.recording is not None
    assert report.methods["plain"].shares.heads == 0
    assert report.cost_curve.rows == [1, 4]
    assert report.plain_over_generate > 0
    assert report.reference.identical_prompts == 3
    assert "on this machine" in report.sentence
    shares_of_progress = [share for _, share in said]
    assert shares_of_progress == sorted(shares_of_progress)
    assert report.model_dump_json()


def test_plain_alone(lab, quick):
    report = bench(lab, PROMPTS[:1], methods=["plain"], max_new_tokens=6)
    assert list(report.methods) == ["plain"]
    assert report.speedup is None
    assert report.reference is None
    assert report.prompts == report.identical_prompts == 1


def test_a_model_that_differs_is_counted(lab, quick, monkeypatch):
    real = lab.race

    def liar(prompt, settings, cancel=None):
        for event in real(prompt, settings, cancel):
            if event.lane == 1 and hasattr(event, "step") and prompt == "tell me":
                changed = [96 - token for token in event.step.emitted]
                step = event.step.model_copy(update={"emitted": changed})
                event = event.model_copy(update={"step": step})
            yield event

    monkeypatch.setattr(lab, "race", liar)
    assert bench(lab, PROMPTS, max_new_tokens=6).identical_prompts == 2


def test_bad_input_is_one_clear_sentence(lab):
    with pytest.raises(ExplorerError, match="at least one prompt"):
        bench(lab, [])
    with pytest.raises(ExplorerError, match="no method"):
        bench(lab, PROMPTS, methods=["telepathy"])


def test_a_cancelled_benchmark_reports_what_it_has(lab, quick):
    cancel = threading.Event()
    cancel.set()
    report = bench(lab, PROMPTS, max_new_tokens=6, cancel=cancel)
    assert report.prompts == 0
    assert report.speedup is None
    assert "cannot say" in report.sentence
    assert report.cost_curve is None
