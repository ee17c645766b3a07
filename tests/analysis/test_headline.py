"""A comparison in a sentence: nothing is called the fastest that its races do not bear."""

from __future__ import annotations

import pytest
from scipy.stats import ttest_rel

from explorer.analysis.headline import TOO_SHORT, headline, p_value
from explorer.analysis.race_reason import busy_sentence
from explorer.analysis.races import PromptFigures


def races(**methods):
    """One race for each speedup of each method."""
    return [
        PromptFigures(
            number=number, id=str(number), category="", method=name, tokens=9, identical=True,
            tokens_per_step=1.0, tokens_per_second=1.0, plain_tokens_per_second=1.0,
            speedup=speedup, half_width=None,
        )
        for name, speedups in methods.items()
        for number, speedup in enumerate(speedups)
    ]  # fmt: skip


def test_a_clear_winner_is_called_the_fastest():
    text = headline(races(medusa=[1.2, 1.1, 1.3, 1.2], hydra=[1.4, 1.31, 1.5, 1.38]))
    assert text.startswith("hydra is the fastest over 4 prompts: hydra at 1.40×")
    assert "then medusa at 1.20×" in text
    assert "(paired t-test of hydra against medusa: p = " in text


def test_methods_that_chance_could_have_ordered_are_not_ordered():
    text = headline(races(medusa=[1.5, 1.1, 1.4, 1.2], hydra=[1.2, 1.4, 1.2, 1.45]))
    assert "hydra is faster than plain decoding, not clearly than medusa, over 4 prompts" in text
    assert "is the fastest" not in text


def test_the_luckiest_of_many_methods_is_not_called_faster():
    """p = .042 alone; as the first of five methods it is .21."""
    lucky = [1.2, 1.05, 1.25, 1.02, 1.1]
    assert headline(races(medusa=lucky)).startswith("medusa is the fastest")
    slower = {name: [0.9, 0.95, 0.85, 0.9, 0.99] for name in ("a", "b", "c", "d")}
    text = headline(races(medusa=lucky, **slower))
    assert text.startswith("No method is clearly faster than plain decoding")
    assert "may be chance (p = 0.21)" in text


def test_plain_decoding_is_a_competitor():
    text = headline(races(medusa=[1.6, 0.7, 1.5, 0.8], lookahead=[0.5] * 4))
    assert text.startswith("No method is clearly faster than plain decoding over 4 prompts")
    assert "closest was medusa at 0.90×" in headline(races(medusa=[0.9, 0.9]))


def test_one_prompt_decides_nothing_and_no_time_says_nothing():
    assert headline(races(medusa=[1.9])).startswith("One prompt decides nothing")
    assert headline(races(medusa=[None, None])) == TOO_SHORT
    assert headline([]) == ""


def on_a_busy_machine(*races_of_one_prompt):
    """The races, with the quickest and the slowest tenth of plain's passes in each."""
    return [
        race.model_copy(update={"pass_ms": list(times)})
        for race, times in zip(races(a=[1.1], b=[1.2]), races_of_one_prompt, strict=True)
    ]


def test_a_busy_machine_ranks_nothing_and_says_it_as_a_race_does():
    within = headline(on_a_busy_machine((20.0, 45.0), (20.0, 22.0)))
    assert within == f"Timings unreliable. {busy_sentence('plain decoding', 20.0, 45.0)}"
    between = headline(on_a_busy_machine((20.0, 22.0), (48.0, 52.0)))
    assert between.startswith("Timings unreliable. This machine is busy: the same pass of plain")
    quiet = headline(on_a_busy_machine((20.0, 22.0), (21.0, 25.0)))
    assert quiet.startswith("One prompt decides nothing")


def test_one_disturbed_prompt_of_many_does_not_void_the_others():
    calm = races(medusa=[1.4, 1.35, 1.5])
    text = [calm[0].model_copy(update={"pass_ms": [20.0, 90.0]}), *calm[1:]]
    assert headline(text).startswith("medusa is the fastest")


def test_the_test_is_students_paired():
    one, other = [0.3, 0.1, 0.25, 0.2], [0.2, 0.12, 0.1, 0.05]
    differences = [a - b for a, b in zip(one, other, strict=True)]
    assert p_value(differences) == pytest.approx(ttest_rel(one, other).pvalue)
    assert p_value([0.1, 0.1]) == 0.0  # nothing scatters
    assert p_value([0.1]) == 1.0
