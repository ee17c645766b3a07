"""Learn in a browser: the chapters on deciding, and what stands beside the tour."""

from __future__ import annotations

import pytest

from explorer.learn.accepting import CHAPTER, RUN, telling_steps
from explorer.learn.beat_the_heads import RUNS, rounds_of
from explorer.learn.best_tree import machines
from explorer.learn.kin import KIN
from explorer.learn.recorded_runs import recorded_run
from explorer.learn.training import recorded_class
from tests.browser.test_learn import figure, keep_run, learn, learn_url, set_slider

__all__ = ["learn", "learn_url"]  # fixtures


def choose(page, name: str) -> None:
    """Press a button of the chapter on view."""
    page.click(
        f".is-current .lx-widget button :text-is('{name}'), .is-current button:text-is('{name}')"
    )


def test_draws_follow_p_unless_guesses_are_not_drawn(learn):
    page = learn("speculative_sampling")
    verdict = page.locator(".is-current .lx-verdict")
    for name in ("a fair guess", "a poor guess", "q = p", "q misses a token"):
        choose(page, name)
        assert verdict.inner_text().startswith("The draws agree with p")
    assert float(figure(page, "chance")) > 0.001
    choose(page, "a fair guess")
    kept = figure(page, "kept")
    choose(page, "q’s best guess, every time")
    assert verdict.inner_text().startswith("This is not p")
    choose(page, "drawn from q")
    assert figure(page, "kept") == kept  # the same seed, the same draws


def test_p_and_q_move_by_keys_and_by_dragging(learn):
    page = learn("speculative_sampling")
    bars = page.locator(".is-current [role=slider]")
    assert bars.count() == 10
    bars.first.focus()
    page.keyboard.press("ArrowUp")
    assert bars.first.get_attribute("aria-valuenow") == "0.440"
    assert page.evaluate("document.activeElement.dataset.bar") == "p0"
    box = bars.nth(1).bounding_box()
    page.mouse.move(box["x"] + 4, box["y"] + 0.7 * box["height"])
    page.mouse.down()
    page.mouse.move(box["x"] + 4, box["y"] + 0.2 * box["height"])
    page.mouse.up()
    assert float(bars.nth(1).get_attribute("aria-valuenow")) > 0.3
    total = sum(float(bars.nth(i).get_attribute("aria-valuenow")) for i in range(0, 10, 2))
    assert total == pytest.approx(1, abs=0.01)


def test_a_recorded_step_is_drawn_again(learn):
    page = learn("speculative_sampling")
    page.click(".is-current .lx-choice:has-text('Steps of the recorded run') button >> nth=0")
    assert "the coin fell on" in page.inner_text(".is-current .lx-verdict")
    before = figure(page, "chi")
    choose(page, "Draw 10\u202f000 again")
    assert figure(page, "chi") != before


def test_three_rules_decide_a_recorded_step(learn):
    page = learn("accepting")
    first, nothing, *_ = telling_steps(recorded_run(RUN))
    taken = len(first.accepted) - 1
    assert figure(page, "accepted") == f"{taken:.2f}"
    assert page.locator(".is-current .lx-nodes .is-taken").count() == taken
    choose(page, "greedy")
    assert figure(page, "keeps") == "at temperature 0"
    choose(page, "sample")
    assert figure(page, "keeps") == "yes"
    assert not page.is_visible(".is-current .lx-slider")
    choose(page, "typical")
    choose(page, str(nothing.index + 1))
    assert figure(page, "accepted") == "0.00"
    set_slider(page, "ε", 0)  # the lower the bar, the longer the path
    assert float(figure(page, "accepted")) > 1


def test_chapters_look_at_the_last_run_of_the_tab(learn, learn_url):
    page = learn("memory_wall")
    keep_run(page, learn_url, "typical")
    page.evaluate("location.hash = 'accepting'")
    page.click(".is-current button:text-is('your last one')")
    page.wait_for_selector(".is-current .lx-choice:has-text('Step of your run')")
    shown = CHAPTER.own.shown(recorded_run("typical"))
    assert page.inner_text(".is-current .lx-question p >> nth=0") == shown.data["question"]["ask"]
    own = page.get_attribute(".is-current .lx-see a >> nth=0", "href")
    assert own.endswith(f"#step={shown.step}")
    choose(page, "the recorded one")
    page.wait_for_selector(".is-current .lx-choice:has-text('Step of the recorded run')")
    page.evaluate("location.hash = 'tree'")
    page.click(".is-current button:text-is('your last one')")
    page.wait_for_selector(".is-current .lx-runs p:has-text('Your last run has no greedy step')")
    assert page.locator(".is-current button:text-is('your own prompt')").count() == 0  # no model


def test_a_tree_grows_node_by_node(learn):
    page = learn("best_tree", reduced_motion="reduce")
    assert page.locator("text=Grow ▸").count() == 0
    choose(page, "Next node")
    assert figure(page, "nodes") == "2"
    assert page.locator(".is-current .lx-grown.is-there").count() == 2
    for machine in machines():
        choose(page, machine["name"])
        choose(page, "Its best tree")
        assert figure(page, "nodes") == str(machine["best"])
        assert figure(page, "speedup") == f"{machine['most']:.2f}"


def test_a_visitor_plays_against_the_heads(learn):
    page = learn("beat_the_heads")
    first = rounds_of(RUNS[0])[0]
    for slot in first["slots"]:
        choose(page, slot["options"][slot["true"]]["name"])
    assert "you 4" in page.inner_text(".is-current .lx-verdict >> nth=0")
    assert page.inner_text(".is-current [data-player=you] td >> nth=0") == "4.00"
    assert page.inner_text(".is-current [data-player=model] td >> nth=0") == "4.00"
    for mean in ("2.00", "1.33", "1.00", "0.80"):
        page.click("text=Next round ▸")
        page.fill(".is-current .lx-typed", "zzz")
        page.keyboard.press("Enter")
        assert page.inner_text(".is-current [data-player=you] td >> nth=0") == mean
    assert page.is_visible(f"text=All 5 rounds of “{RUNS[0]}”")
    assert not page.is_visible("text=Next round ▸")
    choose(page, "Play these again")
    assert page.is_visible("text=Round 1 of 5")
    assert page.locator(".is-current [data-player]").count() == 0  # a new score


def test_every_member_of_the_family_has_its_card(learn):
    page = learn("family")
    for kin in KIN:
        choose(page, kin.name)
        assert page.inner_text(".is-current .lx-kin b") == kin.name
        assert page.locator(".is-current .lx-schematic").get_attribute("aria-label")
    page.click("text=All of them in one table")
    assert page.locator(".is-current .lx-whole tr").count() == 1 + len(KIN)


def test_a_recorded_class_is_looked_through(learn):
    page = learn("training")
    frames = recorded_class()["frames"]
    digits = "".join(filter(str.isdigit, figure(page, "update")))  # they are grouped
    assert digits == str(frames[-1]["update"])
    set_slider(page, "Time of the class", 0)
    assert figure(page, "update") == "0"
    assert figure(page, "tau") == f"{frames[0]['tokens_per_step']:.2f}"
    choose(page, "Replay the recorded class")
    page.wait_for_function(
        "n => document.querySelector('.is-current [data-figure=update]')"
        ".textContent.replace(/\\D/g, '') === n",
        arg=str(frames[1]["update"]),
    )
    assert not page.is_visible("text=Train a head in class")  # no model here
