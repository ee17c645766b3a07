"""The page around the step explorer: text from outside stays text; links and settings agree."""

import re

from explorer.config import DecodeSettings
from explorer.tracing.files import read_trace
from explorer.ui import panels
from explorer.ui.examples import EXAMPLES, INDEX
from explorer.ui.settings import SettingsInputs
from explorer.ui.theme import ASSETS

EVIL = "<img src=x onerror=alert(1)>\"'&"


def test_hostile_text_is_escaped():
    html = panels.status("failed", EVIL) + panels.header(EVIL, [EVIL])
    assert "<img" not in html
    assert "&lt;img" in html


def test_links_know_every_setting_in_the_page_order():
    source = (ASSETS / "step_explorer" / "permalink.js").read_text(encoding="utf-8")
    listed = source.split("const DEFAULTS = {")[1].split("};")[0]
    names = re.findall(r"(\w+):", listed)
    assert names == SettingsInputs.names()


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
        assert trace.plain, path.name
