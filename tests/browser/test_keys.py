"""The keyboard, playing, and presenter mode."""

from __future__ import annotations

import pytest

from explorer.records.step import Trial
from explorer.records.summary import lane_clock
from tests.browser.steps import Steps
from tests.ui.fakes import FakeLab


@pytest.fixture(scope="module")
def trace():
    return FakeLab(shapes=(1, 2)).trace(max_new_tokens=60)


@pytest.fixture
def steps(alone, trace) -> Steps:
    return alone().open(trace)


def test_steps(steps, trace):
    steps.press("End")
    assert steps.step == len(trace.steps)
    steps.press("ArrowRight")
    assert steps.step == len(trace.steps)
    steps.press("ArrowLeft", "ArrowLeft")
    assert steps.step == len(trace.steps) - 2
    steps.press("Home")
    assert steps.step == 1
    steps.press("ArrowLeft")
    assert steps.step == 1


def test_nodes(steps, trace):
    steps.show(1)
    before = steps.ask("explorer.row")
    steps.press("ArrowDown")
    assert steps.ask("explorer.row") == before + 1
    steps.press("ArrowUp", "ArrowUp", "ArrowUp", "ArrowUp", "ArrowUp", "ArrowUp")
    assert steps.ask("explorer.row") == 0
    assert "root" in steps.text(".sx-why h3")


@pytest.mark.parametrize(("key", "part"), [("t", "table"), ("x", "prefixOpen")])
def test_switches(steps, key, part):
    steps.press(key)
    assert steps.state(part)
    steps.press(key)
    assert not steps.state(part)


def test_the_mask_has_three_forms(steps):
    forms = []
    for key in ("m", "w", "w", "w", "m", "m"):
        forms.append(steps.press(key).state("form"))
    assert forms == ["additive", "weights", "mask", "weights", "additive", "mask"]
    steps.page.click(".sx-mask-forms >> text=attention")
    assert steps.state("form") == "weights"
    assert steps.page.get_attribute(".sx-mask-forms >> text=attention", "aria-pressed") == "true"


def test_keys_are_left_to_those_who_need_them(steps):
    steps.show(3)
    steps.page.focus(".sx-timeline select")  # the speed
    steps.press("ArrowRight", "Home")
    assert steps.step == 3
    steps.page.focus(".sx-timeline button[title^='Next step']")
    steps.press(" ")  # presses the button; nothing plays
    assert steps.step == 4
    assert not steps.state("playing")
    steps.press("Control+ArrowRight", "Alt+t")
    assert steps.step == 4
    assert not steps.state("table")


def test_everything_is_reached_with_tab(steps):
    names = set()
    for _ in range(60):
        steps.page.keyboard.press("Tab")
        named = "e => e.getAttribute('aria-label') ?? e.title"
        names.add(steps.page.evaluate(f"({named})(document.activeElement)"))
    assert {
        "Open a saved trace",
        "Save this run as a trace",
        "Play (space)",
        "Step",
        "Speed of playing",
        "Candidate tree: larger",
        "Tree-attention mask: save the picture",
        "Verdict on the selected node",
    } <= names
    assert any(name and ", guessed with" in name for name in names)  # a node of the tree


def test_space_plays_in_recorded_time_and_pauses(steps, trace):
    steps.ask("explorer.store.set({ speed: '0.25' })")
    steps.press("Home", " ")
    steps.wait("explorer.state.playing && explorer.state.step >= 2")
    clock, step, plain = steps.ask(
        "[explorer.state.clock, explorer.state.step,"
        " explorer.trace.rival.tokensAt(explorer.state.clock)]"
    )
    assert steps.ask("explorer.trace.clock")[step] <= clock + 1e-6
    assert plain == sum(second <= clock + 1e-9 for second in lane_clock(trace.rival.steps)[0])
    steps.press(" ")
    assert not steps.state("playing")
    at = steps.step
    steps.page.wait_for_timeout(200)
    assert steps.step == at
    steps.press("[")
    assert steps.state("speed") == "0.1"
    steps.press(*"]]]]]")
    assert steps.state("speed") == "4"
    steps.press(" ")
    steps.wait("!explorer.state.playing")  # it ends by itself
    assert steps.ask("explorer.state.resting && explorer.state.step === explorer.trace.tellingStep")


def test_scrubbing_stops_playing(steps):
    steps.press("Home", " ")
    steps.wait("explorer.state.playing")
    steps.press("ArrowRight")
    assert not steps.state("playing")


def test_presenter_mode_reveals_a_step_in_six_stages(steps, trace):
    number = next(s.index + 1 for s in trace.steps if len(s.emitted) > 1 and len(s.token_ids) > 4)
    n = len(trace.steps[number - 1].token_ids)
    steps.show(number).press("p")
    assert steps.state("presenter")
    size = "s => parseFloat(getComputedStyle(document.querySelector(s)).fontSize)"
    assert steps.page.evaluate(size, ".sx-stage-sentence") >= 20
    known = ".sx-lane.is-own .sx-tok.is-now"
    found, nodes, judged, signs = [], [], [], []
    assert steps.count(known) == 1  # what the step will add is not given away
    for _ in range(6):
        found.append(steps.text(".sx-stage-sentence"))
        nodes.append(steps.count(".sx-tree [role=treeitem]:not(.is-bonus)"))
        judged.append(steps.count(".sx-tree .is-accepted"))
        signs.append("●" in "".join(steps.texts(".sx-mask svg .sx-token")))
        steps.press("ArrowRight")
    assert len(set(found)) == 6
    assert all(sentence.endswith((".", "?")) for sentence in found)
    assert nodes == [1, n, n, n, n, n]
    assert judged[:4] == [0, 0, 0, 0]
    assert judged[4] > 0
    assert signs[2] is False  # the mask, at its own stage, says nothing of the verdicts
    assert steps.step == number + 1  # after the last stage comes the next step's first
    assert steps.state("stage") == 0
    steps.press("ArrowLeft")
    assert (steps.step, steps.state("stage")) == (number, 5)
    steps.press("Escape")
    assert not steps.state("presenter")
    assert steps.count(".sx-tree .is-accepted") > 0


@pytest.mark.parametrize("size", [(1280, 720), (1920, 1080), (844, 390)])
def test_every_stage_fits_the_screen(alone, size):
    viewport = dict(zip(("width", "height"), size, strict=True))
    steps = alone("step_explorer/index.html", viewport=viewport, reduced_motion="reduce")
    cut = """[...document.querySelectorAll(
        ".is-presenter, .is-presenter .sx-row > .sx-card, .is-presenter .sx-verdict-body"
    )].filter((e) => e.offsetHeight > 0 && e.scrollHeight > e.clientHeight + 2).length"""
    seen = """(() => {
        const now = document.querySelectorAll(".sx-lane.is-own .sx-tok.is-now");
        const at = [...now].at(-1).getBoundingClientRect();
        const box = document.querySelector(".sx-lane.is-own").getBoundingClientRect();
        return at.top >= box.top && at.bottom <= box.bottom + 1;
    })()"""
    for name in ("code", "drawn guesses"):  # the second has coins
        if steps.wait("explorer.view !== null").ask("explorer.recorded") != name:
            steps.ask(f"void explorer.choose('{name}')")
        steps.wait(f"explorer.recorded === '{name}'").press("p")
        for _ in range(6):
            steps.wait(f"({cut}) === 0")
            if size[1] > 560:  # lower screens have no room for the text
                steps.wait(seen)
            steps.press("ArrowRight")
        steps.press("Escape")


def test_coins_have_a_stage_of_their_own(alone, trace):
    place = next(s.index for s in trace.steps if "rejected" in s.verdicts)
    row = trace.steps[place].verdicts.index("rejected")
    trial = Trial(row=row, p=0.2, q=0.4, chance=0.5, coin=0.7)
    tried = trace.steps[place].model_copy(update={"trials": [trial]})
    changed = [tried if step.index == place else step for step in trace.steps]
    steps = alone().open(trace.model_copy(update={"steps": changed})).show(place + 1)
    steps.press("p", *["ArrowRight"] * 4)
    assert steps.text(".sx-chips [aria-pressed=true]") == "Coins"
    assert steps.texts(".sx-trials tbody td") == ["0.40", "0.20", "0.50", "0.70"]
    assert steps.count(".sx-tree .is-bonus") == 0  # not drawn yet
    steps.press("ArrowRight")
    assert steps.text(".sx-chips [aria-pressed=true]") == "Accept"


def test_reduced_motion_plays_nothing_by_itself(alone):
    still = alone("step_explorer/index.html", reduced_motion="reduce")
    still.wait("explorer.view !== null")
    still.page.wait_for_timeout(200)
    assert not still.state("playing")
    moving = alone("step_explorer/index.html").wait("explorer.state.playing")
    assert moving.state("step") is not None


def test_the_list_of_keys_closes_by_escape_and_by_doing_something_else(steps):
    shown = "document.querySelector('.sx-help').open"
    for leave in (lambda: steps.press("Escape"), lambda: steps.page.click(".sx-lanes h2 >> nth=0")):
        steps.page.click(".sx-help summary")
        steps.page.wait_for_function(shown)
        leave()
        steps.page.wait_for_function(f"!{shown}")
