"""The client against a server that answers well, and one that misbehaves."""

from __future__ import annotations

import socket
import threading
import time

import pytest

from explorer.records.errors import ExplorerError
from explorer.records.serving import Speculation
from explorer.serving.address import server_address
from explorer.serving.client import KEY_VARIABLE, Ask, Patience, ServerClient
from explorer.serving.stream import events
from tests.serving.fake_server import ACCEPTED, WORDS, Fake, serving

QUICK = Patience(connect=1.0, silence=1.0, answer=5.0, retries=2, pause=0.01)
ASK = Ask("a", "Count.", 16)
COUNTED = Speculation(steps=3, drafted=9, accepted_at=[2, 1, 0])


def asked(fake, cancel=None, patience=QUICK, **more):
    with serving(fake) as address, ServerClient(address, patience) as client:
        return client.answer(more.pop("model", "fake"), ASK, cancel, **more)


def test_an_answer_comes_whole_with_its_tokens_times_and_drafts():
    fake = Fake(pause=0.02)
    answer = asked(fake, token_ids=True)
    assert answer.problem is None
    assert answer.pieces == WORDS
    assert answer.text == "One two three four"
    assert [len(ids) for ids in answer.token_ids] == [1, *(1 + n for n in ACCEPTED)]
    assert answer.tokens == 7
    assert answer.speculation == COUNTED
    assert answer.accepted == ACCEPTED
    assert answer.arrivals == sorted(answer.arrivals)
    assert all(gap > 0.01 for gap in answer.gaps)
    assert answer.per_token == pytest.approx(sum(answer.gaps) / 6)
    assert answer.seconds >= answer.arrivals[-1]
    assert fake.bodies[0]["temperature"] == 0
    assert fake.bodies[0]["messages"] == [{"role": "user", "content": "Count."}]


def test_what_only_vllm_knows_is_asked_of_nobody_else():
    fake = Fake(reports=False)
    answer = asked(fake)
    assert "return_token_ids" not in fake.bodies[0]
    assert answer.tokens == 7  # as the server counts them
    assert (answer.token_ids, answer.speculation, answer.accepted) == ([], None, [])


@pytest.mark.parametrize(("faults", "requests"), [([500], 2), ([429, 503], 3)])
def test_a_busy_server_is_asked_again(faults, requests):
    fake = Fake(faults=list(faults))
    assert asked(fake).problem is None
    assert fake.requests == requests


def test_retries_end():
    fake = Fake(faults=[500] * 9)
    assert asked(fake).problem == "The server answered 500, “too much to do”."
    assert fake.requests == 3


def test_a_refusal_is_not_repeated_and_is_said_in_the_servers_words():
    fake = Fake(refuses={"error": {"message": "max_tokens\nis too large"}})
    assert asked(fake).problem == "The server answered 400, “max_tokens is too large”."
    assert fake.requests == 1


def test_a_model_that_is_not_there():
    fake = Fake()
    problem = asked(fake, model="other").problem
    assert problem == "The server answered 404, “The model `other` does not exist.”."


@pytest.mark.parametrize(
    ("behaviour", "why", "pieces"),
    [
        ({"breaks_after": 2}, "the stream ended before the answer did", 2),
        ({"answering": "impostor"}, "another model answered (impostor)", 0),
        ({"garbage": True}, "the server sent something that is no message", 0),
        ({"error_event": {"message": "out of memory"}}, "the server said “out of memory”", 0),
        ({"error_event": 7}, "the server said “error”", 0),
        ({"endless": True}, "the server sent an event of more than 1 MB", 4),
    ],
)
def test_an_answer_that_breaks_off_keeps_what_has_come(behaviour, why, pieces):
    fake = Fake(**behaviour)
    answer = asked(fake)
    assert answer.problem == f"The answer broke off: {why}."
    assert len(answer.pieces) == pieces
    assert fake.requests == 1  # never repeated once it had begun


def test_silence_ends():
    fake = Fake(pause=0.6)
    patience = Patience(silence=0.2, retries=0)
    assert asked(fake, patience=patience).problem == "The server fell silent."


def test_an_answer_may_not_take_for_ever():
    fake = Fake(words=["x"] * 100, pause=0.02)
    patience = Patience(silence=1, answer=0.2, retries=0)
    assert "more than 0 seconds" in asked(fake, patience=patience).problem


@pytest.mark.parametrize("behaviour", [{"trickles": True}, {"hesitates": True}])
def test_comments_or_headers_without_end_are_no_answer(behaviour):
    patience = Patience(silence=1, answer=0.2, retries=0)
    assert "more than 0 seconds" in asked(Fake(**behaviour), patience=patience).problem


@pytest.mark.parametrize("page", ["/v1/models", "/metrics", "/version"])
def test_a_page_that_never_ends_byte_by_byte_ends(page):
    patience = Patience(connect=1.0, silence=1.0, pages=0.3, retries=2, pause=0.01)
    with serving(Fake(drips=page)) as address, ServerClient(address, patience) as client:
        start = time.monotonic()
        if page == "/v1/models":
            with pytest.raises(ExplorerError, match="sent no whole page in 0 seconds: check"):
                client.info()
        else:
            assert client.info().models == ["fake"]  # it is no vLLM, or counts no drafts
        assert time.monotonic() - start < 30


def test_a_check_has_less_patience_than_an_answer():
    assert Patience().pages <= 15


def test_a_cancel_ends_an_answer():
    cancel = threading.Event()
    threading.Timer(0.15, cancel.set).start()
    start = time.monotonic()
    answer = asked(Fake(words=["x"] * 3_000, pause=0.02), cancel)  # a minute and more
    assert answer.problem == "The answer broke off: it was cancelled."
    assert time.monotonic() - start < 30


@pytest.mark.parametrize(
    "metrics",
    [
        {"acceptance_histogram": "many", "num_draft_tokens": 1},
        {"acceptance_histogram": [-1, 2], "num_draft_tokens": 1},
        {"acceptance_histogram": [1] * 9999, "num_draft_tokens": 1},
        {"num_spec_steps": 3},
        [],
    ],
)
def test_figures_that_are_none_are_not_believed(metrics):
    from explorer.serving.messages import Chunk

    assert Chunk(metrics={"speculative_decoding": metrics}).speculation is None


def test_numbers_without_bound_are_not_believed():
    from explorer.serving.messages import Chunk

    counted = {"acceptance_histogram": [1, 10**400], "num_draft_tokens": 1}
    assert Chunk(metrics={"speculative_decoding": counted}).speculation is None


@pytest.mark.parametrize("ids", [[-5], [10**40], [0.5]])
def test_what_is_no_token_id_breaks_an_answer_off(ids):
    answer = asked(Fake(ids=ids), token_ids=True)
    assert answer.problem == "The answer broke off: the server sent something that is no message."


def test_hostile_text_stays_text():
    hostile = "<script>alert(1)</script>\x00\u202e"
    assert asked(Fake(words=[hostile])).text == hostile


def test_info_of_vllm_and_of_another_server():
    with serving(Fake()) as address, ServerClient(f"{address}/v1/", QUICK) as client:
        info = client.info()
    assert (info.address, info.engine, info.models) == (address, "vLLM 0.32.0", ["fake"])
    assert info.counts_drafts
    with serving(Fake(version=None, counts=False)) as address:
        info = ServerClient(address, QUICK).info()
    assert (info.engine, info.counts_drafts) == (None, False)


@pytest.mark.parametrize(
    "models", [{"data": []}, {"nothing": 1}, [1], {"data": [{"id": "x" * 400}]}]
)
def test_a_page_that_lists_no_models_is_no_server_of_models(models):
    with serving(Fake(models=models)) as address, pytest.raises(ExplorerError, match="no models"):
        ServerClient(address, QUICK).info()


def test_nobody_at_home():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(ExplorerError, match="cannot be reached: check address and server"):
        ServerClient(address, QUICK).info()


def test_the_key_goes_along_where_one_is_set(monkeypatch):
    monkeypatch.setenv(KEY_VARIABLE, "secret")
    assert ServerClient("localhost")._http.headers["authorization"] == "Bearer secret"
    monkeypatch.delenv(KEY_VARIABLE)
    assert "authorization" not in ServerClient("localhost")._http.headers


def test_addresses():
    for given in ("127.0.0.1:8000", " http://127.0.0.1:8000/v1/ ", "http://127.0.0.1:8000/"):
        assert server_address(given) == "http://127.0.0.1:8000"
    assert server_address("https://[::1]:8/models/v1") == "https://[::1]:8/models"
    odd = "file:///etc/passwd", "http://", "http://a:b@host", "http://h?x=1", "http://h:0"
    for wrong in ("", *odd, "http://h:99999", "http://h\n.com", "http://[::1", "x" * 400):
        with pytest.raises(ExplorerError):
            server_address(wrong)


def test_events_come_whole_however_the_bytes_are_cut():
    stream = ': hi\n\ndata: {"a": "é"}\r\n\r\ndata:[DONE]\n\n'.encode()
    for size in (1, 2, 7, 100):
        cut = [stream[i : i + size] for i in range(0, len(stream), size)]
        assert list(events(cut)) == ['{"a": "é"}', "[DONE]"]
