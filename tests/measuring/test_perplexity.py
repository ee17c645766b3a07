"""Perplexity of what the rules write: scored right, summed right, and apart where they differ."""

import math
import threading

import numpy as np
import pytest
import torch
from scipy.stats import t as student_t

from explorer.analysis.tree_names import cartesian
from explorer.measuring import perplexity as module
from explorer.measuring.perplexity import ScoredText, measure_perplexity, rule_figures, surprise
from explorer.records.errors import ExplorerError
from tests.tiny_lab import tiny_lab, tiny_model

PROMPTS = [{"prompt": text} for text in ("def f", "hello there", "tell me", "why", "and so on")]


def test_surprise_is_the_sum_over_one_token_after_the_other():
    model = tiny_model()
    prompt, text = [3, 1, 4], [1, 5, 9, 2, 6]
    expected = 0.0
    for index, token in enumerate(text):
        hidden = model.hidden_states(torch.tensor(prompt + text[:index]))[-1:]
        expected -= model.logits(hidden).log_softmax(-1)[0, token].item()
    assert surprise(model, prompt, text) == pytest.approx(expected, rel=1e-4)
    assert surprise(model, prompt, []) == 0.0


def test_long_texts_are_scored_in_parts(monkeypatch):
    model, text = tiny_model(), [t * 7 % 90 for t in range(50)]
    whole = surprise(model, [1, 2], text)
    monkeypatch.setattr(module, "ROWS_AT_A_TIME", 7)
    assert surprise(model, [1, 2], text) == pytest.approx(whole, rel=1e-5)


def test_intervals_by_hand():
    texts = [ScoredText(10, 5, 10.0), ScoredText(10, 5, 20.0)]
    found = rule_figures("typical", 1.0, texts, [ScoredText(10, 9, 5.0), ScoredText(10, 9, 5.0)])
    # means of 1 and 2 nats: 1.5 ± t · 0.5
    half = student_t.ppf(0.975, 1) * 0.5
    assert found.perplexity.value == pytest.approx(math.exp(1.5))
    assert found.perplexity.low == pytest.approx(math.exp(1.5 - half))
    assert found.perplexity.high == pytest.approx(math.exp(1.5 + half))
    assert found.over_sample.value == pytest.approx(math.e)
    assert found.tokens_per_step == 2.0


def test_a_prompt_is_compared_with_itself():
    """Prompts differ a lot, the rules by the same factor on each: the quotient is certain."""
    rng = np.random.default_rng(0)
    base = rng.uniform(5, 50, size=8)
    sampled = [ScoredText(20, 20, float(total)) for total in base]
    typical = [ScoredText(20, 20, float(total) - 2) for total in base]
    found = rule_figures("typical", 1.0, typical, sampled)
    assert found.over_sample.value == pytest.approx(math.exp(-0.1))
    assert found.over_sample.high - found.over_sample.low == pytest.approx(0, abs=1e-9)
    assert found.perplexity.high - found.perplexity.low > 0.5


def test_longer_texts_weigh_more():
    found = rule_figures("greedy", 0.0, [ScoredText(30, 9, 30.0), ScoredText(10, 9, 30.0)], None)
    assert found.perplexity.value == pytest.approx(math.exp(60 / 40))
    assert found.over_sample is None


def test_one_prompt_has_no_interval():
    found = rule_figures("greedy", 0.0, [ScoredText(10, 5, 10.0)], None)
    assert (found.perplexity.low, found.perplexity.high) == (None, None)


def test_rules_on_a_tiny_model():
    lab = tiny_lab(num_heads=2, tree=cartesian([4, 2]))
    report = measure_perplexity(
        lab, PROMPTS, temperatures=[0.5, 1.0], max_new_tokens=48, epsilon=0.9, delta=0.9
    )
    cells = {(f.rule, f.temperature): f for f in report.figures}
    assert list(cells) == [
        ("greedy", 0.0), ("sample", 0.5), ("typical", 0.5), ("sample", 1.0), ("typical", 1.0)
    ]  # fmt: skip
    assert all(figures.tokens == 5 * 48 for figures in report.figures)
    order = [cells[cell].perplexity.value for cell in (("greedy", 0.0), ("sample", 0.5))]
    assert order[0] < order[1] < cells["sample", 1.0].perplexity.value
    assert cells["typical", 1.0].over_sample is not None
    assert type(report).model_validate_json(report.model_dump_json()) == report


def test_greedy_texts_do_not_depend_on_the_seed_and_drawn_ones_do():
    lab = tiny_lab()
    one, two = (
        measure_perplexity(
            lab, PROMPTS[:2], ["greedy", "sample"], [1.0], max_new_tokens=24, seed=seed
        )
        for seed in (0, 9)
    )
    assert one.figures[0] == two.figures[0]
    assert one.figures[1].perplexity != two.figures[1].perplexity
    assert one.seed == 0


def test_every_prompt_has_its_own_random_numbers():
    lab = tiny_lab()
    twice = measure_perplexity(lab, PROMPTS[:1] * 2, ["sample"], [1.0], max_new_tokens=24)
    once = measure_perplexity(lab, PROMPTS[:1], ["sample"], [1.0], max_new_tokens=24)
    assert twice.figures[0].perplexity.value != once.figures[0].perplexity.value


def test_cancelled_it_reports_on_finished_prompts():
    cancel = threading.Event()

    def progress(text, share):
        if "prompt 3" in text:
            cancel.set()

    report = measure_perplexity(
        tiny_lab(), PROMPTS, ["sample"], [1.0], progress, cancel, max_new_tokens=8
    )
    assert report.prompts == report.figures[0].prompts == 2
    with pytest.raises(ExplorerError, match="No prompt was finished"):
        measure_perplexity(tiny_lab(), PROMPTS, cancel=cancel)


@pytest.mark.parametrize(
    ("rules", "temperatures", "hint"),
    [
        (["tea"], [1.0], "no acceptance rule 'tea'"),
        (["sample"], [], "nothing to compare"),
        (["sample"], [0.0], "temperature above 0"),
        (["sample"], [-1.0], "temperature"),
    ],
)
def test_bad_settings_are_refused(rules, temperatures, hint):
    with pytest.raises(ExplorerError, match=hint):
        measure_perplexity(tiny_lab(), PROMPTS, rules, temperatures)
