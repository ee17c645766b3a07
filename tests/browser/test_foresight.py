"""The foresight map on Explore: its shades are the counts of explorer/analysis/foresight.py."""

import pytest

from explorer.analysis.foresight import foresight, tokens_ahead
from explorer.records.files import read_trace
from explorer.records.paths import ASSETS

CARD = ".sx-foresight-card"


@pytest.fixture(scope="module")
def recorded():
    return read_trace(ASSETS / "traces" / "story.json.gz")


def looks(steps) -> list[str]:
    """The look of every token: f0 … f4."""
    return steps.page.eval_on_selector_all(
        f"{CARD} [role=option]", "all => all.map(one => one.className.match(/f[0-4]/)[0])"
    )


def test_tokens_are_shaded_by_how_far_ahead_a_head_had_them(alone, recorded):
    steps, known = alone().open(recorded), foresight(recorded)
    for top in (1, 3, 10):
        steps.choose(f"{CARD} select", str(top))
        assert looks(steps) == [f"f{min(4, tokens_ahead(one, top))}" for one in known]
    steps.page.locator(f"{CARD} input[type=range]").fill("2")
    assert looks(steps) == [f"f{tokens_ahead(one, 10, heads=2)}" for one in known]


def test_a_token_names_the_hidden_state_that_knew_it_and_leads_to_its_step(alone, recorded):
    steps, known = alone().open(recorded), foresight(recorded)
    steps.choose(f"{CARD} select", "10")
    index = next(i for i, one in enumerate(known) if i > 8 and len(one) > 1)
    steps.page.locator(f"{CARD} [role=option]").nth(index).click()
    found = steps.texts(f"{CARD} li")
    assert len(found) == len(known[index])
    assert f"at position {known[index][0].position} " in found[0]
    counted = [one for one in known[index] if one.rank < 10]
    source = counted[-1].position - len(recorded.header.prompt_ids)
    marked = steps.page.locator(f"{CARD} [role=option]").nth(source)
    assert "is-source" in marked.get_attribute("class")
    steps.page.click(f"{CARD} .sx-foresight-detail button")
    end = 0
    for number, step in enumerate(recorded.steps, start=1):
        end += len(step.emitted)
        if end > index:
            assert steps.step == number
            break


def test_arrow_keys_walk_through_the_tokens_and_leave_the_steps_alone(alone, recorded):
    steps = alone().open(recorded).show(3)
    steps.page.locator(f"{CARD} [role=option]").nth(4).click()
    steps.press("ArrowRight", "ArrowRight", "ArrowLeft")
    chosen = steps.page.locator(f"{CARD} [aria-selected=true]")
    assert chosen.count() == 1
    assert (
        steps.page.evaluate(
            "given => [...document.querySelectorAll(given)].indexOf(document.activeElement)",
            f"{CARD} [role=option]",
        )
        == 5
    )
    assert steps.step == 3


def test_what_heads_knew_along_a_path_is_not_called_more(alone, recorded):
    """Hydra heads were given the tokens between, as the text has them."""
    steps, known = alone(), foresight(recorded)
    settings = recorded.header.settings.model_copy(update={"method": "hydra"})
    header = recorded.header.model_copy(update={"settings": settings, "shown": None})
    steps.open(recorded.model_copy(update={"header": header}))
    assert "Heads read their path" in steps.text(f"{CARD} .sx-foresight-legend")
    index = next(i for i, one in enumerate(known) if tokens_ahead(one, 1) > 1)
    steps.page.locator(f"{CARD} [role=option]").nth(index).click()
    assert "between had been guessed right" in steps.text(f"{CARD} .sx-foresight-detail p")


def test_a_run_without_heads_says_so(alone, recorded):
    steps = alone()
    bare = recorded.header.model_copy(update={"num_heads": 0, "prompt_position": None})
    kept = [step.model_copy(update={"positions": []}) for step in recorded.steps]
    steps.open(recorded.model_copy(update={"header": bare, "steps": kept}))
    assert "no guesses of heads" in steps.text(f"{CARD} .sx-foresight-legend")
    assert set(looks(steps)) == {"f0"}
