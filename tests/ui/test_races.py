"""Which two methods race, and what the end of a race says."""

from __future__ import annotations

import gradio as gr
import pytest

from explorer.ui import updates
from explorer.ui.limits import PUBLIC
from explorer.ui.settings import SettingsInputs
from tests.ui.explore_pages import finished, handlers_of, values
from tests.ui.fakes import FakeLab


def test_the_method_that_was_chosen_races():
    asked = []

    class Watching(FakeLab):
        def race(self, prompt, settings, cancel=None, against="plain"):
            asked.append((settings.method, against))
            return super().race(prompt, settings, cancel, against)

    handlers = handlers_of(Watching())
    pairs = [("medusa", "plain"), ("prompt-lookup", "medusa"), ("hydra", "lookahead")]
    for method, against in pairs:
        list(handlers.run(None, "hi", *values(method=method, against=against)))
    assert asked == pairs


@pytest.mark.parametrize(
    ("against", "said"), [("medusa", "against itself"), ("<b>", "There is no method"), (None, "no")]
)
def test_a_rival_that_cannot_be_is_refused(against, said):
    session, _ = finished(handlers_of(), method="medusa", against=against)
    assert session.phase == "failed"
    assert said in session.problem


def test_a_model_without_heads_races_plain_against_plain():
    asked = []

    class Bare(FakeLab):
        method = "plain"

        def race(self, prompt, settings, cancel=None, against="plain"):
            asked.append(settings.method)
            return super().race(prompt, settings, cancel, against)

    list(handlers_of(Bare()).run(None, "hi", *values()))
    assert asked == ["plain"]


@pytest.mark.parametrize(
    ("texts", "temperature", "sentence"),
    [
        (([5, 6], [5, 6]), 0.0, "Both methods wrote the same tokens."),
        (([5, 6], [5, 6]), 0.7, "Both methods wrote the same tokens."),
        (([5, 6], [5, 7]), 0.7, "The texts differ: with sampling, each method draws its own."),
        (([5, 6], [5, 7]), 0.0, "python -m explorer audit"),
    ],
)
def test_the_end_of_a_run_says_what_was_compared(texts, temperature, sentence):
    handlers = handlers_of()
    session, _ = finished(handlers)
    settings = session.header.settings.model_copy(update={"temperature": temperature})
    session.header = session.header.model_copy(update={"settings": settings})
    session.tokens = texts
    said = updates.status(handlers.page, session, handlers.worker)[handlers.page.status]
    assert sentence in said
    assert "`" not in said  # no markup of another language


@pytest.mark.parametrize("wrong", ["9", None, [], {"a": 1}, "<b>"])
def test_a_suggested_run_changes_what_fits_and_stays_in_the_limits(wrong):
    handlers = handlers_of(limits=PUBLIC)

    def asked(changes):
        event = gr.EventData(None, {"prompt": "hi", "settings": changes})
        prompt, *settings = handlers.asked_again(*values(), event=event)
        return prompt, dict(zip(SettingsInputs.names(), settings, strict=True))

    prompt, settings = asked({"tree": "root", "max_new_tokens": 9_999})
    assert (prompt, settings["tree"], settings["max_new_tokens"]) == ("hi", "root", 256)
    assert asked({"max_new_tokens": wrong}) == asked({})
    assert asked(wrong) == asked({})
