"""The page around the step explorer: text from outside stays text; links and settings agree."""

from explorer.records.files import read_trace
from explorer.records.settings import DecodeSettings
from explorer.ui import panels
from explorer.ui.examples import EXAMPLES, INDEX

EVIL = "<img src=x onerror=alert(1)>\"'&"


def test_hostile_text_is_escaped():
    html = panels.status("failed", EVIL) + panels.header(EVIL, [EVIL])
    assert "<img" not in html
    assert "&lt;img" in html


def test_recorded_runs_open_and_are_small():
    recorded = [example for example in EXAMPLES if example.file]
    assert len(recorded) >= 5
    for example in recorded:
        path = INDEX.parent / example.file
        trace = read_trace(path)
        assert path.stat().st_size < 150_000, path.name
        assert trace.header.prompt == example.prompt
        wanted = DecodeSettings(**{**example.settings, **example.recorded})
        assert trace.header.settings.tree == wanted.tree
        assert trace.header.settings.acceptance == wanted.rule
        assert trace.rival, path.name


def test_hints_say_what_the_recordings_show():
    found = {example.name: read_trace(INDEX.parent / example.file) for example in EXAMPLES}
    pace = {name: trace.figures.lane.tokens_per_step for name, trace in found.items()}
    assert max(pace, key=pace.__getitem__) == "code"
    assert min(pace, key=pace.__getitem__) == "translation"
    assert pace["explanation"] < pace["code"]
    rows = {name: max(len(step.token_ids) for step in trace.steps) for name, trace in found.items()}
    assert (rows["story"], rows["a slowdown"]) == (29, 16)
    assert found["a slowdown"].figures.kind == "slow"
    assert found["story"].figures.speedup < 1
    loose = found["looser rule"]
    assert loose.new_token_ids != loose.rival.new_token_ids
