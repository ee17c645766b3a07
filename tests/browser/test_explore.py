"""The real app with the default model, end to end: what is on the page is what the trace says."""

from __future__ import annotations

from explorer.analysis.speedup import race_figures
from explorer.records.numbers import rate
from explorer.records.text import join_pieces

PROMPT = "Explain what a binary search is, with a Python example."


def lane_text(trace, token_ids: list[int]) -> str:
    """The text of a lane, its closing end-of-sequence token left out."""
    return join_pieces(trace.pieces, [t for t in token_ids if t not in trace.header.eos_ids])


def test_a_race_from_prompt_to_saved_trace(real_url, tab, tmp_path):
    page = tab(real_url).ready().run(PROMPT, new_tokens=48).done()
    trace = page.save(tmp_path)

    assert trace.header.prompt == PROMPT
    assert trace.header.settings.max_new_tokens == 48
    plain = trace.rival.new_token_ids
    assert page.lane("own") == lane_text(trace, trace.new_token_ids)
    assert page.lane("rival") == lane_text(trace, plain)
    figures = race_figures(trace)
    assert f"{figures.speedup:.2f}× ± {figures.half_width:.2f}" in page.text(".sx-speedup")
    assert rate(figures.lane.tokens_per_second) in page.text(".sx-lane-head.is-own")
    assert rate(figures.rival.tokens_per_second) in page.text(".sx-lane-head.is-rival")
    same = plain == trace.new_token_ids
    assert ("same tokens" in page.text(".mx-status")) == same

    for number in (1, 2, len(trace.steps) // 2):
        step = trace.steps[page.show(number).step - 1]
        assert page.count(".sx-tree [role=treeitem]:not(.is-bonus)") == len(step.token_ids)
        assert f"{step.timings.verify:.1f}" in page.text(".sx-cost")
    assert page.errors == []
    assert page.hosts == {real_url.removeprefix("http://")}  # no other host is asked


def test_stop_keeps_what_was_decoded_and_frees_the_model(real_url, tab, tmp_path):
    page = (
        tab(real_url)
        .ready()
        .run("Write a long story about a lighthouse keeper and the sea.", new_tokens=800)
    )
    page.wait("explorer.state.live && explorer.trace.tokens.length > 8", 30_000)
    page.page.click("#mx-stop")
    page.wait_for_status("Stopped")
    page.wait("!explorer.state.live")
    assert 8 < len(page.save(tmp_path).new_token_ids) < 800
    page.run("Say hello.", new_tokens=8).done()
    assert 0 < len(page.save(tmp_path).new_token_ids) <= 8


def test_a_bad_setting_is_one_sentence_and_the_app_goes_on(real_url, tab):
    page = tab(real_url).ready()
    page.open_settings()
    page.page.fill("#mx-tree-setting input", "chain:99")
    page.page.press("#mx-tree-setting input", "Enter")
    page.run("Hello")
    page.wait_for_status("chain:99")
    assert "Traceback" not in page.text("body")
    page.page.wait_for_selector("#mx-new-tokens", state="hidden")  # Run folds them away
    page.open_settings()
    page.page.fill("#mx-tree-setting input", "chain:1")
    page.page.press("#mx-tree-setting input", "Enter")
    page.run("Say hello.", new_tokens=8).done()
    assert page.errors == []
