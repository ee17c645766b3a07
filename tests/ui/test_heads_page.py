"""The Heads page behind the browser: what is examined, where, and what is refused."""

from types import SimpleNamespace

import gradio as gr
import pytest

from explorer.analysis.checkup import Checkup
from explorer.ui.heads_handlers import MOST_OWN, NEEDS_MODEL, NO_PATHS, RECORDED, HeadsHandlers
from explorer.ui.limits import PRIVATE, PUBLIC
from explorer.ui.serve import replay
from explorer.ui.worker import ModelWorker

EVIL = "<script>alert(1)</script>"
FOUND = Checkup.model_validate_json(RECORDED.read_bytes())


@pytest.fixture
def page():
    """Builds the page over a worker that records what it is asked for."""

    def build(limits=PRIVATE, load=lambda progress: SimpleNamespace(description="fake")):
        asked = {}

        def checkup(lab, **given):
            asked.update(given)
            return FOUND.model_copy(update={"model": EVIL})

        worker = ModelWorker(load, checkup=checkup)
        worker._load_model()
        with gr.Blocks():
            return HeadsHandlers(worker, limits), asked

    return build


def test_a_recorded_checkup_needs_no_model_and_examining_says_that_it_does(page):
    heads, asked = page(load=replay)
    (refused,) = heads.examine("", "")
    assert NEEDS_MODEL.split(",")[0] in refused[heads.page.status]
    assert not asked
    update = heads.show_recorded()
    assert set(update) == set(heads.page.shown)
    assert "plain decoding" in update[heads.page.report]
    assert update[heads.page.ledger].data[0].measure[-1] == "total"
    assert "<code>" in update[heads.page.wrong]
    kinds, parts = update[heads.page.kinds].data
    assert list(kinds.x) == list(FOUND.accuracy.by_kind)
    assert len(parts.y) == 4


def test_examining_shows_what_the_doctor_found_on_the_built_in_prompts(page):
    heads, asked = page(PUBLIC)
    last = list(heads.examine("", " \n"))[-1]
    assert "Measured just now" in last[heads.page.status]
    assert EVIL not in last[heads.page.report]
    assert asked["heads"] == ""
    assert asked["tokens"] <= PUBLIC.new_tokens
    assert len({prompt["category"] for prompt in asked["prompts"]}) > 1


def test_other_heads_are_examined_on_own_prompts(page):
    heads, asked = page()
    list(heads.examine("  some/heads ", "one prompt\n\n another "))
    assert asked["heads"] == "some/heads"
    assert [prompt["prompt"] for prompt in asked["prompts"]] == ["one prompt", "another"]


def test_on_a_public_host_no_path_is_opened_and_its_box_is_not_shown(page):
    heads, asked = page(PUBLIC)
    assert not heads.page.heads.visible
    for source in ("/etc", "owner/name", "../heads"):
        (refused,) = heads.examine(source, "")
        assert NO_PATHS in refused[heads.page.status]
    assert not asked


@pytest.mark.parametrize(
    ("text", "said"),
    [("a\n" * (MOST_OWN + 1), "take fewer"), ("long " * 30_000, "shorten it")],
)
def test_too_much_text_is_one_sentence(page, text, said):
    heads, asked = page()
    (refused,) = heads.examine("", text)
    assert said in refused[heads.page.status]
    assert not asked


def test_the_doctor_examines_the_heads_of_a_folder_and_the_loaded_ones_stay(lab, tmp_path):
    """On the default model: what the page asks the worker for, without the page."""
    from explorer.heads.checkpoints import load_heads, save_heads
    from explorer.lab.loading import with_heads
    from explorer.records.errors import ExplorerError
    from explorer.records.paths import ASSETS

    heads = load_heads(ASSETS / "heads" / "default", num_heads=2)
    save_heads(heads, tmp_path / "two")
    other = with_heads(lab, str(tmp_path / "two"))
    assert other.heads["medusa"].heads.config.num_heads == 2
    assert lab.heads["medusa"].heads.config.num_heads == 4
    assert other.model is lab.model
    with pytest.raises(ExplorerError, match="no folder"):
        with_heads(lab, str(tmp_path / "none"))
