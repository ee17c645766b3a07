"""Each view of the step explorer shows what the trace says."""

from __future__ import annotations

from explorer.analysis.speedup import acceptance_by_depth, race_figures, with_figures
from explorer.records.files import read_trace
from explorer.records.schema import Shown
from explorer.records.summary import lane_clock
from explorer.ui.examples import INDEX
from tests.browser.steps import full_step
from tests.trace_records import with_rival
from tests.ui.fake_run import SHAPES
from tests.ui.fakes import TEXT


def test_one_selection_lights_every_view(steps, trace):
    step, number = full_step(trace)
    steps.show(number).press("t")
    row = step.accepted[1]
    line = [0, row]
    assert SHAPES[step.tree].parents[row] == 0
    steps.page.hover(f".sx-tree [data-row='{row}'] .sx-mark")
    steps.wait(f"explorer.state.hover === {row}")
    assert steps.count(".sx-tree .sx-node.is-line") == len(line)
    assert steps.count(".sx-table tr.is-line") == len(line)
    assert steps.count(".sx-cache .sx-slot.is-line") == len(line)
    assert steps.count(".sx-lane.is-own .is-line") == len(line)
    position = step.context_length + 1
    assert f"at position {position} sees the text so far" in steps.text(".sx-mask .sx-hint")
    steps.page.click(f".sx-table tbody tr:nth-child({row + 1})")
    assert steps.state("row") == row


def test_verdict_gives_guess_wish_rule_and_both_lists(steps, trace):
    step, number = full_step(trace)
    row = step.verdicts.index("rejected")
    steps.show(number).ask(f"explorer.select({row})")
    text = steps.text(".sx-why")
    parent = SHAPES[step.tree].parents[row]
    wanted = trace.pieces[step.choices[parent]].label
    assert f"guessed ‘{trace.pieces[step.token_ids[row]].label}’" in text
    assert f"first choice, ‘{wanted}’ (0.62)" in text
    assert f"rank {step.base_ranks[row] + 1}" in text
    assert steps.count(".sx-tops table") == 2
    assert steps.count(".sx-tops tbody tr") == 10
    pruned = step.verdicts.index("pruned")
    steps.ask(f"explorer.select({pruned})")
    assert "never reached" in steps.text(".sx-why")


def test_table_lists_every_row(steps, trace):
    step, number = full_step(trace)
    steps.show(number).press("t")
    assert steps.count(".sx-table tbody tr") == len(step.token_ids)
    assert steps.texts(".sx-table tbody td:nth-child(3)").count("accepted") == (
        step.verdicts.count("accepted")
    )


def test_text_is_whole_and_a_token_leads_to_its_step(steps, trace):
    assert steps.lane("own") == TEXT[: len(steps.lane("own"))] != ""
    assert steps.count(".sx-lane.is-own .sx-tok.d0") >= len(trace.steps) - 3
    steps.show(1)
    token = steps.page.locator(".sx-lane.is-own .sx-tok").nth(9)
    token.click()
    wanted = steps.ask("explorer.trace.tokens[9].step")
    assert abs(steps.step - 1 - wanted) <= 1  # two tokens may share a span
    token.hover()
    assert "probability" in token.get_attribute("title")


def test_what_came_later_is_dimmed_in_both_lanes(steps, trace):
    steps.show(5)
    tokens = sum(len(step.emitted) for step in trace.steps[:5])
    moment = lane_clock(trace.steps)[0][4]
    theirs = sum(second <= moment + 1e-9 for second in lane_clock(trace.rival.steps)[0])
    assert steps.ask("explorer.trace.rival.tokensAt(explorer.trace.clock[4])") == theirs
    shown = ".sx-lane.is-own .sx-tok:not(.is-later)"
    assert abs(steps.count(shown) - tokens) <= 1
    steps.press("End")
    assert steps.count(".is-later") == 0


def test_race_gives_the_measured_speedup_with_its_spread(steps, trace):
    figures = race_figures(trace)
    text = steps.text(".sx-speedup strong")
    assert text.replace("\n", " ").split()[0] == f"{figures.speedup:.2f}×"
    assert f"± {figures.half_width:.2f}" in text
    assert f"{len(trace.steps)} steps" in steps.text(".sx-speedup")


def test_few_samples_are_an_estimate_in_words(alone, trace):
    young = with_figures(
        with_rival(trace, trace.rival.steps[:9]).model_copy(update={"steps": trace.steps[:4]})
    )
    steps = alone().open(young)
    assert "estimate: only 9 tokens of plain decoding" in steps.text(".sx-speedup")
    assert "±" not in steps.text(".sx-speedup")
    alone_lane = with_figures(with_rival(trace, None))
    steps.open(alone_lane, "alone.json.gz").wait("explorer.trace.rival === null")
    assert "nothing measured yet" in steps.text(".sx-speedup")
    assert steps.count(".sx-pays") == 0


def test_cost_names_every_part_and_from_when_the_tree_pays(steps, trace):
    step, number = full_step(trace)
    text = steps.show(number).text(".sx-cost")
    for name in ("heads", "draft", "verify", "accept", "commit"):
        assert f"{name} {getattr(step.timings, name):.1f}" in text
    assert "on average over the run" in text
    assert f"{len(trace.new_token_ids) / len(trace.steps):.2f}" in text


def test_cost_shows_the_floor_beside_the_step(steps, trace):
    step, number = full_step(trace)
    text = steps.show(number).text(".sx-cost")
    assert f"{step.timings.step / step.floor.milliseconds:.2f} times its floor" in text
    assert "floor 5.3 ms" in " ".join(text.split())


def test_cost_shows_what_nodes_had_to_be_worth(alone, trace):
    first, second = trace.steps[1:3]
    bare = {"tree": 0, "price": 0.0, "verdicts": ["root"], "accepted": [0]}
    first_row = {
        name: getattr(first, name)[:1]
        for name in (
            "token_ids",
            "draft_probs",
            "joint_probs",
            "base_probs",
            "base_ranks",
            "choices",
            "base_top",
            "emitted",
            "reasons",
        )
    }
    found = {
        0: trace.steps[0],
        1: first.model_copy(update=first_row | bare),
        2: second.model_copy(update={"price": 0.4567}),
    }
    steps = alone().open(trace.model_copy(update={"steps": [*found.values(), *trace.steps[3:]]}))
    assert "Estimates" not in steps.show(1).text(".sx-cost")
    assert "No guess was worth a row." in steps.show(2).text(".sx-cost")
    nodes = len(second.token_ids) - 1
    worth = f"Estimates: checking {nodes} guesses costs the time of 0.46 tokens"
    assert worth in steps.show(3).text(".sx-cost")


def test_the_last_token_costs_no_pass_and_writes_nothing(alone):
    trace = read_trace(INDEX.parent / "slower.json.gz")
    assert not trace.steps[-1].base_top
    continued = trace.header.model_copy(update={"continued_tokens": 3})
    steps = alone().open(trace.model_copy(update={"header": continued})).press("End")
    assert "No pass was needed" in steps.text(".sx-cost")
    assert steps.count(".sx-pays") == 0
    assert steps.count(".sx-cache .sx-slot") == 0
    assert "continues 3 tokens" in steps.text(".sx-caption")


def test_summary_counts_as_the_analysis_does(steps, trace):
    rows = steps.texts(".sx-summary .sx-chart:nth-child(1) .sx-chart-row b")
    measured = [d for d in acceptance_by_depth(trace.steps, trace.trees) if d.rate is not None]
    expected = [f"{round(100 * d.rate)} % of {d.accepted + d.first_rejections}" for d in measured]
    assert rows == expected
    vain = sum(len(s.token_ids) - len(s.emitted) for s in trace.steps if s.base_top)
    assert f"{vain:,}".replace(",", "\u202f") in steps.text(".sx-summary .sx-chart:last-child")


def test_cache_keeps_the_accepted_rows_and_drops_the_rest(steps, trace):
    step, number = full_step(trace)
    steps.show(number)
    assert steps.count(".sx-cache .sx-slot") == len(step.token_ids) + len(step.emitted)
    assert steps.count(".sx-cache .sx-slide") == len(step.emitted)
    vanished = len(step.token_ids) - len(step.emitted)
    assert f"{vanished} discarded" in steps.text(".sx-cache .sx-hint")


def test_timeline_has_a_bar_for_every_token_and_shows_plain_decoding(steps, trace):
    bars = steps.page.eval_on_selector_all(
        ".sx-timeline .sx-bar",
        "all => all.map(e => (e.getAttribute('d') ?? '').split('M').length - 1)",
    )
    assert sum(bars) == len(trace.new_token_ids)
    assert bars[0] == len(trace.steps)
    text = steps.show(8).text(".sx-timeline .sx-hint")
    assert "plain decoding was" in text
    assert steps.texts(".sx-timeline svg text") == ["plain decoding is here"]


def test_timeline_is_dragged(steps):
    box = steps.page.locator(".sx-timeline svg").bounding_box()
    middle = box["y"] + box["height"] / 2
    steps.page.mouse.move(box["x"] + 40, middle)
    steps.page.mouse.down()
    first = steps.step
    steps.page.mouse.move(box["x"] + 240, middle, steps=5)
    steps.page.mouse.up()
    assert steps.step > first + 5
    assert not steps.state("follow")


def test_the_lane_and_its_curve_are_called_by_the_method(alone, trace):
    settings = trace.header.settings.model_copy(update={"method": "hydra"})
    shown = Shown(title="Hydra", drafter="Hydra head {depth}")
    header = trace.header.model_copy(update={"settings": settings, "shown": shown})
    steps = alone().open(trace.model_copy(update={"header": header}))
    assert steps.page.text_content(".sx-race-name.is-own") == "Hydra"
    assert steps.text(".sx-lane-head.is-own h2") == "Hydra"


def test_a_run_that_begins_shows_no_words_of_the_one_before(steps):
    assert steps.show(3).text(".sx-timeline .sx-hint")
    steps.ask("explorer.receive({run: 'next', first: 0, events: [], live: true})")
    steps.wait("explorer.view === null")
    assert steps.text(".sx-timeline h2") == "No steps yet"
    assert steps.text(".sx-timeline .sx-hint") == ""
    assert steps.text(".sx-mask > .sx-hint") == ""


def test_what_a_step_cost_is_read_without_scrolling(alone):
    steps = alone("step_explorer/index.html", reduced_motion="reduce")
    steps.wait("explorer.view !== null")
    body = "document.querySelector('.sx-cost-body')"
    for width in (1440, 390):
        steps.page.set_viewport_size({"width": width, "height": 900})
        steps.wait(f"{body}.scrollHeight <= {body}.clientHeight + 1")


def test_a_chart_that_is_hidden_keeps_its_picture(alone):
    """A page of Learn that is turned: a chart of no width would have marks of negative width."""
    widths = alone().page.evaluate(
        """async () => {
          const { Chart } = await import('../learn/chart.js');
          const axis = { title: '', min: 0, max: 1 };
          const chart = new Chart({ label: 'a', x: { ...axis }, y: { ...axis } });
          chart.element.style.width = '400px';
          document.body.append(chart.element);
          const later = () => new Promise((done) => setTimeout(done, 300));
          const width = () => chart.element.querySelector('svg')?.getAttribute('width');
          for (let tries = 0; !width() && tries < 30; tries += 1) await later();
          const before = width();
          chart.element.style.display = 'none';
          await later();
          return [before, width()];
        }"""
    )
    assert widths == ["400", "400"]
