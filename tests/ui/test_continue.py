"""Continue: a tab's next run goes on from where the text of its last one stopped."""

from dataclasses import replace

import pytest

from explorer.records.continuation import Continuation
from explorer.ui.limits import PRIVATE, PUBLIC
from explorer.ui.updates import GO_ON
from tests.ui.explore_pages import finished, handlers_of, messages, values
from tests.ui.fakes import FakeLab

ENDLESS = "an endless text"


class Watching(FakeLab):
    """Remembers what it was asked to begin with."""

    def race(self, prompt, settings, cancel=None, against="plain"):
        self.begun = (prompt, settings)
        return super().race(prompt, settings, cancel, against)


def continued(handlers, session, **changes):
    sent = list(handlers.go_on(session, *values(**changes)))
    return sent[0][handlers.page.session], sent


def why_not(handlers, sent) -> str | None:
    """What the button says; None where it can be pressed."""
    last = sent[-1]
    text = last[handlers.page.why_not]
    assert (text == GO_ON) == last[handlers.page.go_on].interactive
    return None if text == GO_ON else text


def test_a_run_goes_on_with_the_tokens_so_far_and_the_present_settings():
    lab = Watching()
    handlers = handlers_of(lab)
    first, sent = finished(handlers, ENDLESS, max_new_tokens=20)
    assert why_not(handlers, sent) is None
    second, sent = continued(handlers, first, max_new_tokens=12, method="hydra", tree="chain:2")
    begun, settings = lab.begun
    assert begun == Continuation(first.header, first.tokens[0])
    assert (settings.method, settings.tree) == ("hydra", "chain:2")
    assert second.header.continued_tokens == 20
    assert second.key != first.key
    header = messages(handlers, sent)[0]["events"][0][2]
    assert header["prompt_ids"] == [*first.header.prompt_ids, *first.tokens[0]]
    assert header["continued_tokens"] == 20
    third, _ = continued(handlers, second, max_new_tokens=4)
    assert third.header.continued_tokens == 32
    whole, _ = finished(handlers, ENDLESS, max_new_tokens=36)
    assert first.tokens[0] + second.tokens[0] + third.tokens[0] == whole.tokens[0]


def test_a_stopped_run_goes_on():
    handlers = handlers_of(FakeLab(pace=0.02))
    run = handlers.run(None, ENDLESS, *values(max_new_tokens=1000))
    session = next(run)[handlers.page.session]
    while not session.tokens[0]:
        next(run)
    handlers.stop(session)
    assert why_not(handlers, list(run)) is None
    assert continued(handlers, session, max_new_tokens=5)[0].phase == "done"


@pytest.mark.parametrize(
    ("limits", "context", "prompt", "sentence"),
    [
        (PRIVATE, 2_000, "hi", "model has ended its text"),
        (PRIVATE, 70, ENDLESS, "the text has 70 tokens, and the model reads 70 in all"),
        (replace(PUBLIC, continued_text=30), 9_000, ENDLESS, "up to 30 are continued here"),
    ],
)
def test_the_button_says_why_nothing_can_follow(monkeypatch, limits, context, prompt, sentence):
    lab = FakeLab()
    lab.context_length = context
    handlers = handlers_of(lab, limits)
    session, sent = finished(handlers, prompt)
    assert sentence in why_not(handlers, sent)
    # Nor does a page that asks all the same get more.
    again, sent = continued(handlers, session)
    assert again.phase == "failed"
    assert sentence in sent[-1][handlers.page.status]


def test_before_the_first_run_and_while_one_goes_on_there_is_nothing_to_continue():
    handlers = handlers_of(FakeLab(pace=0.01))
    session, sent = continued(handlers, None)
    assert "press Run first" in why_not(handlers, sent)
    assert session.phase == "failed"
    run = handlers.run(None, ENDLESS, *values())
    live = (first := next(run))[handlers.page.session]
    assert "still in progress" in why_not(handlers, [first])
    continued(handlers, live)
    assert not live.ticket.cancel.is_set()  # and the run was left alone
    run.close()


def test_a_bad_setting_does_not_cost_the_text():
    handlers = handlers_of(limits=PUBLIC)
    first, _ = finished(handlers, ENDLESS)
    for again, sent in (
        continued(handlers, first, max_new_tokens=9_999),
        finished_after(handlers, first, ""),
    ):
        assert again.phase == "failed"
        assert why_not(handlers, sent) is None
        assert continued(handlers, again)[0].header.continued_tokens == 40


def finished_after(handlers, last, prompt):
    sent = list(handlers.run(last, prompt, *values()))
    return sent[0][handlers.page.session], sent


def test_a_new_run_starts_afresh():
    lab = Watching()
    handlers = handlers_of(lab)
    first, _ = finished(handlers, ENDLESS)
    second, _ = finished_after(handlers, first, "hi")
    assert lab.begun[0] == "hi"
    assert second.header.continued_tokens == 0
