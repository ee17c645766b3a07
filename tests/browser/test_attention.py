"""Attention weights in the mask: what the page shows is what the model computes."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from explorer.analysis.tree_names import cartesian
from explorer.measuring.attention_records import answer, weights_of_step
from explorer.records.attention import AttentionQuestion
from explorer.records.errors import ExplorerError
from explorer.records.events import collect
from explorer.records.files import dump_trace, read_trace
from explorer.records.settings import DecodeSettings
from explorer.ui.examples import INDEX
from tests.browser.steps import Steps
from tests.tiny_lab import tiny_lab

LONG_PROMPT = "What is a heap, and what is it for? " * 4
STEP = 2  # of the tiny model's run, from 0
MOUNT = """async () => {
  const { mount } = await import("./main.js");
  document.getElementById("sx").replaceChildren();
  window.explorer = await mount(document.getElementById("sx"), {
    attention: async (question) => JSON.parse(await window.askModel(JSON.stringify(question))),
  });
}"""


@pytest.fixture(scope="module")
def lab():
    return tiny_lab(tree=cartesian([2, 2]))


@pytest.fixture(scope="module")
def trace(lab):
    return collect(lab.decode(LONG_PROMPT, DecodeSettings(max_new_tokens=16)))


@pytest.fixture
def asked() -> list[dict]:
    """The questions that the page has put."""
    return []


@pytest.fixture
def steps(alone, lab, trace, asked) -> Steps:
    """The step explorer with the tiny model behind it."""

    def ask_model(text: str) -> str:
        asked.append(json.loads(text))
        try:
            heads = answer(lab.model, AttentionQuestion.model_validate_json(text))
        except ExplorerError as error:
            return json.dumps({"problem": str(error)})
        return json.dumps({"heads": [head.model_dump() for head in heads]})

    steps = alone()
    steps.page.expose_function("askModel", ask_model)
    steps.page.evaluate(MOUNT)
    return steps.open(trace).show(STEP + 1)


@pytest.fixture
def gallery(alone) -> Iterator[tuple[Steps, object]]:
    """A recorded run, without a model."""
    path = INDEX.parent / "code.json.gz"
    return alone().open_bytes(path.read_bytes()).wait("explorer.view !== null"), read_trace(path)


def weighed(steps: Steps) -> Steps:
    return steps.press("w").wait("explorer.attention.shown !== null")


def opacities(steps: Steps) -> list[float]:
    return steps.page.eval_on_selector_all(
        ".sx-mask .sx-cell.is-weight", "all => all.map(e => Number(e.getAttribute('fill-opacity')))"
    )


def note(steps: Steps) -> str:
    return steps.text(".sx-mask > .sx-hint")


def point(steps: Steps, row: int, column: int) -> str:
    """Hover the cell of a row of the pass under a row of the pass; what is said then."""
    grid = steps.page.locator(".sx-mask .sx-grid").bounding_box()
    rows = steps.ask("explorer.view.rows")
    x = grid["x"] + (column + 0.5) * grid["width"] / rows
    steps.page.mouse.move(x, grid["y"] + (row + 0.5) * grid["height"] / rows)
    steps.wait(f"explorer.state.hover === {row}")
    return note(steps)


def test_the_page_shows_what_the_model_computes(steps, lab, trace):
    weighed(steps)
    layer, head = steps.state("layer"), steps.state("head")
    assert layer == 1  # the middle one of two
    prefix = trace.steps[STEP].context_length
    weights = weights_of_step(lab.model, trace, STEP, layer)[head]
    parents = trace.trees[trace.steps[STEP].tree].parents
    row = len(parents) - 1
    for column in (row, parents[row], 0):
        text = point(steps, row, column)
        value = float(weights[row, prefix + column])
        shown = f"{value:.2f}" if value >= 0.01 else "0.00"
        assert f"gives {shown}" in text
        assert ("itself" in text) == (column == row)
    assert "no ancestor" in point(steps, row, row - 1)
    steps.page.mouse.move(5, 5)
    first = round(100 * float(weights[row, 0]))
    steps.ask(f"explorer.select({row})")
    assert f"gives the first token {first} % of its attention" in note(steps)


def test_shades_are_one_scale_over_single_tokens(steps, lab, trace):
    weighed(steps)
    weights = weights_of_step(lab.model, trace, STEP, 1)[steps.state("head")]
    prefix = trace.steps[STEP].context_length
    tree = weights[:, prefix:]
    expected = [
        0.07 + 0.93 * (float(value / tree.max())) ** 0.5 for row in tree for value in row[row > 0]
    ]
    assert sorted(opacities(steps)) == pytest.approx(sorted(expected), abs=5e-3)
    assert steps.count(".sx-mask .sx-cell.is-share") == 2 * len(tree)  # first token, and the sum
    steps.press("x")
    slots = steps.ask("explorer.attention.shown.slots.length")
    assert slots < prefix
    assert len(opacities(steps)) == len(expected) + (slots - 1) * len(tree)


def test_any_layer_and_head_is_chosen_and_heads_come_together(steps, asked):
    weighed(steps)
    assert steps.texts("select[aria-label=Layer] option") == ["layer 1", "layer 2"]
    assert steps.texts("select[aria-label='Attention head'] option") == ["head 1", "head 2"]
    other = 1 - steps.state("head")
    steps.choose("select[aria-label='Attention head']", str(other))
    steps.wait(f"explorer.attention.shown?.head === {other}")
    assert len(asked) == 1  # the layer's other heads came with the first
    steps.choose("select[aria-label=Layer]", "0")
    steps.wait("explorer.attention.shown?.layer === 0")
    assert [(q["layer"], q["step"]) for q in asked] == [(None, STEP), (0, STEP)]
    steps.press("ArrowRight").wait("explorer.attention.shown?.step === 3")
    assert steps.state("layer") == 0


def test_what_was_looked_at_is_saved_with_the_run(steps, tmp_path):
    weighed(steps)
    saved = steps.save(tmp_path)
    assert {(head.step, head.layer) for head in saved.attention} == {(STEP, 1)}
    assert len(saved.attention) == 2


def test_hovering_elsewhere_lights_the_row(steps, trace):
    weighed(steps)
    steps.page.hover(".sx-tree [data-row='1'] .sx-mark")
    steps.wait("explorer.state.hover === 1")
    assert steps.count(".sx-mask .sx-token.is-line") == 2
    assert "gives" in note(steps)


def test_a_question_that_fails_is_a_sentence_and_may_be_put_again(alone, trace):
    steps = alone()
    steps.page.expose_function(
        "askModel", lambda text: json.dumps({"problem": "The model is busy.", "able": True})
    )
    steps.page.evaluate(MOUNT)
    steps.open(trace).show(STEP + 1).press("w")
    steps.wait("explorer.attention.reason === 'The model is busy.'")
    assert note(steps).startswith("The model is busy.")
    steps.page.click(".sx-mask >> text=try again")
    assert "Computing" in note(steps)


def test_nothing_is_asked_while_the_run_plays(steps, asked):
    steps.choose("select[aria-label='Speed of playing']", "step")  # its own pace is an instant
    steps.press(" ", "w")
    assert "that you stay at" in note(steps)
    steps.page.wait_for_timeout(400)
    assert steps.state("playing")
    assert asked == []
    steps.press(" ").wait(
        "explorer.attention.shown !== null || !explorer.view.step.base_top.length"
    )


def test_a_recorded_run_shows_the_weights_that_it_carries(gallery):
    steps, trace = gallery
    head = trace.attention[0]
    steps.show(head.step + 1).press("w")
    assert f"layer {head.layer + 1}, head {head.head + 1}" in steps.page.get_attribute(
        ".sx-mask svg", "aria-label"
    )
    depths = trace.trees[trace.steps[head.step].tree].depths
    here = [one for one in trace.attention if one.step == head.step]
    options = [f"layer {layer + 1}" for layer in sorted({one.layer for one in here})]
    assert steps.texts("select[aria-label=Layer] option") == options
    row = len(depths) - 1
    found = head.rows(depths)[row][-1]
    assert f"gives {found:.2f} of its attention to itself" in point(steps, row, row)


def test_a_step_without_weights_says_where_some_are(gallery):
    steps, trace = gallery
    carrying = sorted({head.step for head in trace.attention})
    bare = next(i for i in range(len(trace.steps)) if i not in carrying)
    steps.show(bare + 1).press("w")
    assert "carries no attention weights" in note(steps)
    assert len(opacities(steps)) == 0
    steps.page.click(f".sx-mask > .sx-hint >> text=step {carrying[1] + 1}")
    steps.wait("explorer.attention.shown !== null")
    assert steps.step == carrying[1] + 1
    assert len(opacities(steps)) > 0


def test_a_step_without_a_pass_has_no_weights(alone):
    path = INDEX.parent / "slower.json.gz"
    assert not read_trace(path).steps[-1].base_top
    steps = alone().open_bytes(path.read_bytes()).wait("explorer.view !== null").press("End", "w")
    assert "needed no pass" in note(steps)


def test_the_weights_are_saved_as_a_picture(gallery, tmp_path):
    steps, trace = gallery
    steps.show(trace.attention[0].step + 1).press("w")
    path = steps.download(
        lambda: steps.choose(".sx-mask .sx-card-head select[aria-label$='picture']", "svg"),
        tmp_path,
    )
    assert "fill-opacity" in path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "changes",
    [
        {"weights": "AAAA"},
        {"weights": "<script>"},
        {"layer": 30},
        {"slots": [3, 2]},
        {"slots": [0, 99_999]},
        {"step": 9_999},
        {"step": "0"},
    ],
)
@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")
def test_a_trace_with_wrong_weights_is_refused(alone, changes):
    trace = read_trace(INDEX.parent / "code.json.gz")
    head = trace.attention[0].model_copy(update=changes)
    steps = alone().open_bytes(dump_trace(trace.model_copy(update={"attention": [head]})))
    assert "does not hold a valid trace (attention.0)" in steps.problem


def test_the_app_computes_what_a_recorded_run_carries(real_url, tab):
    """The whole way: the browser's question, the server, the default model."""
    trace = read_trace(INDEX.parent / "code.json.gz")
    bare = trace.model_copy(update={"attention": []})
    carried = trace.attention[0]
    page = tab(real_url).ready().open(bare)
    page.wait("explorer.trace.attention.length === 0").show(carried.step + 1)
    page.ask(
        f"explorer.store.set({{ form: 'weights', layer: {carried.layer}, head: {carried.head} }})"
    )
    page.wait("explorer.attention.shown !== null", 120_000)
    shown = page.ask("explorer.attention.shown")
    assert shown["slots"] == carried.slots
    depths = trace.trees[trace.steps[carried.step].tree].depths
    computed = carried.model_copy(update={"weights": shown["weights"]}).rows(depths)
    for ours, theirs in zip(computed, carried.rows(depths), strict=True):
        # Recorded with other kernels, which rounded activations otherwise.
        assert ours == pytest.approx(theirs, abs=0.03)
    assert page.errors == []
