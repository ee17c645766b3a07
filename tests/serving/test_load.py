"""Load: concurrency, progress, cancel, and where the acceptance comes from."""

from __future__ import annotations

import threading
import time

import pytest

from explorer.records.serving import Speculation
from explorer.serving.client import Patience, ServerClient
from explorer.serving.counters import Counters, read_counters, samples
from explorer.serving.load import Load, percentiles
from tests.serving.fake_server import Fake, serving

QUICK = Patience(connect=1.0, silence=2.0, answer=5.0, retries=1, pause=0.01)
PROMPTS = [{"id": "a", "prompt": "Count."}, {"id": "b", "prompt": "Again."}]


def run(fake, concurrency=2, requests=6, cancel=None):
    with serving(fake) as address, ServerClient(address, QUICK) as client:
        load = Load(client, fake.model, PROMPTS, concurrency, requests, 16)
        found = list(load.answers(cancel or threading.Event()))
    return load, found


@pytest.mark.parametrize("concurrency", [1, 4])
def test_as_many_at_once_as_asked(concurrency):
    fake = Fake(pause=0.03)
    load, found = run(fake, concurrency, 8)
    figures = load.figures()
    assert fake.most_at_once == concurrency
    assert (figures.requests, figures.failed, figures.tokens) == (8, 0, 56)
    assert sorted(a.id for a in load.done) == ["a"] * 4 + ["b"] * 4
    assert sum(map(len, found)) == 8
    assert figures.tokens_per_second == pytest.approx(56 / figures.seconds)
    assert figures.first_token.p50 >= 0.03
    assert figures.gap.p50 <= figures.gap.p90 <= figures.gap.p99
    assert figures.source == "responses"
    assert figures.speculation == Speculation(steps=24, drafted=72, accepted_at=[16, 8, 0])


def test_counters_stand_in_where_responses_report_nothing():
    fake = Fake(reports=False, steps=30)
    load, _ = run(fake)
    assert load.figures().source == "counters"
    assert load.figures().speculation == Speculation(steps=18, drafted=54, accepted_at=[12, 6, 0])


def test_a_server_that_reports_nothing_is_timed_all_the_same():
    load, _ = run(Fake(reports=False, counts=False))
    figures = load.figures()
    assert (figures.speculation, figures.source) == (None, None)
    assert figures.tokens_per_second > 0


def test_failures_are_counted_and_left_out():
    load, _ = run(Fake(faults=[500] * 5), concurrency=1)
    figures = load.figures()
    assert figures.failed == 2  # each was asked twice; the fifth fault was repaired by its retry
    assert figures.requests == 4
    assert figures.tokens == 28


def test_a_cancel_ends_the_load_and_is_no_failure():
    cancel = threading.Event()
    threading.Timer(0.3, cancel.set).start()
    start = time.monotonic()
    load, _ = run(Fake(words=["x"] * 40, pause=0.02), 2, 100, cancel)
    assert time.monotonic() - start < 3
    assert len(load.done) < 100
    assert load.figures().failed == 0


def test_closing_it_early_stops_the_requests():
    fake = Fake(pause=0.02)
    with serving(fake) as address, ServerClient(address, QUICK) as client:
        going = Load(client, "fake", PROMPTS, 1, 50, 16).answers(threading.Event())
        next(going)
        going.close()
        time.sleep(0.3)
        seen = fake.requests
        time.sleep(0.2)
        assert fake.requests == seen < 10


def test_counters_of_all_engines_of_one_model_are_added():
    def line(name, value, **labels):
        inside = ",".join(f'{k}="{v}"' for k, v in labels.items())
        return f"vllm:spec_decode_num_{name}_total{{{inside}}} {value}\n"

    page = "".join(
        line("drafts", 10.0, engine=engine, model_name="m")
        + line("draft_tokens", 40.0, engine=engine, model_name="m")
        + line("accepted_tokens_per_pos", 6.0, engine=engine, model_name="m", position="0")
        + line("accepted_tokens_per_pos", 2.0, engine=engine, model_name="m", position="1")
        for engine in "01"
    ) + line("drafts", 7.0, engine="0", model_name="other")
    assert read_counters(page, "m") == Counters(20, 80, (12, 4))
    assert read_counters(page).steps == 27
    assert read_counters(page, "unknown") is None


def test_odd_pages():
    assert read_counters("") is None
    assert read_counters("vllm:spec_decode_num_drafts_total NaN\nno sample at all {\n") is None
    odd = 'a{b="c\\"d\\\\n\\n}",e="f"} 1.5 1700000000\n'
    assert list(samples(odd)) == [("a", {"b": 'c"d\\n\n}', "e": "f"}, 1.5)]
    drafts, huge = "vllm:spec_decode_num_drafts 3\n", "vllm:spec_decode_num_draft_tokens 1e308\n"
    assert read_counters(drafts + huge * 2) == Counters(3, 0, ())
    assert read_counters("vllm:spec_decode_num_drafts 3\n" * 2) == Counters(6, 0, ())


def test_a_server_that_restarted_between_two_readings():
    assert Counters(5, 20, (2,)).since(Counters(50, 200, (30,))) is None
    assert Counters(5, 20, (2, 1)).since(Counters(0, 0, ())) == Speculation(
        steps=5, drafted=20, accepted_at=[2, 1]
    )


def test_speculation_by_hand():
    # four steps that accepted 0, 1, 1 and 3 of three drafts
    found = Speculation(steps=4, drafted=12, accepted_at=[3, 1, 1])
    assert found.accepted == 5
    assert found.tokens_per_step == 1 + 5 / 4
    assert found.shares == [0.75, 0.25, 0.25]
    assert found.rates == [0.75, 1 / 3, 1.0]
    assert (found + Speculation(steps=1, drafted=3, accepted_at=[1])).accepted_at == [4, 1, 1]
    nothing = Speculation(steps=0, drafted=0, accepted_at=[])
    assert (nothing.tokens_per_step, nothing.shares) == (None, [])
    with pytest.raises(ValueError, match="more drafts"):
        Speculation(steps=1, drafted=3, accepted_at=[1, 2])


def test_percentiles_by_hand():
    found = percentiles([1.0, 2.0, 3.0, 4.0, 5.0])
    assert (found.p50, found.p90) == (3.0, 4.6)
    assert percentiles([]) is None
