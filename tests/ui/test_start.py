"""Hosts and proxies that the app is started with, and what is said where it cannot start."""

import os

import pytest

from explorer.ui import serve
from explorer.ui.serve import bracketed, bypass_proxies, root_path
from explorer.ui.start import main


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        (None, None),
        ("127.0.0.1", "127.0.0.1"),
        ("example.org", "example.org"),
        ("::1", "[::1]"),
        ("::", "[::]"),
        ("[::1]", "[::1]"),
    ],
)
def test_an_ipv6_host_gets_its_brackets(host, expected):
    assert bracketed(host) == expected


@pytest.mark.parametrize("before", ["", "example.org", "localhost, example.org"])
def test_the_apps_own_addresses_go_round_proxies(monkeypatch, before):
    monkeypatch.setenv("NO_PROXY", before)
    monkeypatch.setenv("no_proxy", before)
    bypass_proxies("[::1]")
    for name in ("NO_PROXY", "no_proxy"):
        listed = [entry.strip() for entry in os.environ[name].split(",")]
        assert {"127.0.0.1", "localhost", "::1"} <= set(listed)
        assert ("example.org" in listed) == ("example.org" in before)
        assert "" not in listed


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError("in use"), "cannot listen on 127.0.0.1, port 7: choose another --host or --port"),
        (ValueError("no localhost"), "cannot be started (ValueError: no localhost): choose"),
        (RuntimeError(), "cannot be started (RuntimeError: no details): choose"),
    ],
)
def test_whatever_launching_raises_becomes_one_sentence(monkeypatch, capsys, error, said):
    def launch(*_):
        raise error

    monkeypatch.setattr(serve, "serve", launch)
    assert main(["--replay", "--host", "127.0.0.1", "--port", "7"]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--port", "99999"], "there is no port 99999: choose one from 1 to 65535.\n"),
        (["--port", "-1"], "there is no port -1: choose one"),
        (["--host", "192.0.2.1"], "cannot listen on 192.0.2.1, port any: choose another"),
        (["--host", "a..b", "--port", "7"], "cannot listen on a..b, port 7: choose another"),
    ],
)
def test_an_address_that_is_none_is_refused_before_the_server_starts(
    monkeypatch, capsys, given, said
):
    monkeypatch.setattr(serve, "serve", None)
    assert main(["--replay", *given]) == 2
    assert capsys.readouterr().err.startswith(f"app.py: {said}")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("", None),
        ("medusa", "/medusa"),
        ("/medusa", "/medusa"),
        ("https://example.org/medusa", "https://example.org/medusa"),
    ],
)
def test_a_root_path_needs_no_slash_in_front(monkeypatch, given, expected):
    monkeypatch.setenv("GRADIO_ROOT_PATH", given)
    assert root_path() == expected
