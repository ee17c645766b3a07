"""Chromium, and what it looks at: the step explorer alone, the app with a script, the real app."""

from __future__ import annotations

import contextlib
import functools
import http.server
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

from explorer.analysis.speedup import with_figures
from explorer.records.schema import Trace
from tests.browser.explore import Explore
from tests.browser.steps import Steps
from tests.ui.fake_run import CHAIN, SMALL, SPARSE
from tests.ui.fakes import FakeLab
from tools.browsers import chromium

ROOT = Path(__file__).resolve().parents[2]
START_SECONDS = 180  # a busy machine imports slowly
ALONE = "step_explorer/index.html?empty"  # the step explorer without the app and without a run


@pytest.fixture(scope="session")
def playwright() -> Iterator:
    with sync_playwright() as playwright:
        yield playwright


@pytest.fixture(scope="session")
def browser(playwright) -> Iterator:
    """Chromium; test_firefox.py has another."""
    arguments = ["--no-sandbox"] if os.name == "posix" and os.geteuid() == 0 else []
    browser = playwright.chromium.launch(executable_path=chromium(), args=arguments)
    yield browser
    browser.close()


@pytest.fixture(scope="session")
def real_url(tmp_path_factory) -> Iterator[str]:
    """The app as a user starts it; APP_OPTIONS may name another model, heads or backend."""
    options = os.environ.get("APP_OPTIONS", "").split()
    yield from _serve(["app.py", *options, "--port"], tmp_path_factory.mktemp("real"))


@pytest.fixture(scope="session")
def scripted_url(tmp_path_factory) -> Iterator[str]:
    """The app with a scripted model: quick, and it says what no model would."""
    yield from _serve(["-m", "tests.ui.serve_fake"], tmp_path_factory.mktemp("scripted"))


@pytest.fixture(scope="session")
def assets_url() -> Iterator[str]:
    """The files of the step explorer and the recorded runs, served as they are."""
    with serving_assets() as url:
        yield url


@pytest.fixture
def tab(browser) -> Iterator:
    """Opens pages of the app, each in a context of its own (another visitor)."""
    contexts = []

    def open_tab(url: str, **options: object) -> Explore:
        options = {"viewport": {"width": 1440, "height": 1000}} | options
        contexts.append(browser.new_context(accept_downloads=True, **options))
        return Explore(contexts[-1].new_page(), url)

    yield open_tab
    for context in contexts:
        context.close()


@pytest.fixture
def alone(browser, assets_url) -> Iterator:
    """Opens the step explorer alone on a page; errors on the page fail the test."""
    contexts, errors = [], []

    def open_alone(path: str = ALONE, **options: object) -> Steps:
        options = {"viewport": {"width": 1440, "height": 900}} | options
        context = browser.new_context(accept_downloads=True, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("dialog", lambda dialog: errors.append(f"dialog: {dialog.message}"))
        page.goto(f"{assets_url}/{path}")
        return Steps(page).wait("explorer.store")

    yield open_alone
    for context in contexts:
        context.close()
    assert errors == []


@contextlib.contextmanager
def serving_assets() -> Iterator[str]:
    """Serves the folder assets/ on a free port, as long as it is entered."""
    handler = functools.partial(_Quiet, directory=ROOT / "assets")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args: object) -> None:
        pass


def _serve(command: list[str], folder: Path) -> Iterator[str]:
    with serving(command, folder, {}) as url:
        yield url


@contextlib.contextmanager
def serving(command: list[str], folder: Path, environment: dict[str, str]) -> Iterator[str]:
    """The app as a process of its own, as long as it is entered; its log goes to `folder`."""
    port = _free_port()
    log = folder / "log.txt"
    with log.open("w") as output:
        process = subprocess.Popen(
            [sys.executable, *command, str(port)],
            cwd=ROOT,
            stdout=output,
            stderr=output,
            # One core for the model: the browser, which draws in software here, needs the other.
            env=os.environ | {"OMP_NUM_THREADS": "1"} | environment,
        )
    url = f"http://127.0.0.1:{port}"
    try:
        _wait_for(url, process, log)
        yield url
    finally:
        process.terminate()
        process.wait(20)


def _wait_for(url: str, process: subprocess.Popen, log: Path) -> None:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        try:
            urllib.request.urlopen(url, timeout=2).close()
        except OSError:
            time.sleep(0.2)
        else:
            return
    pytest.fail(f"the app did not answer:\n{log.read_text()[-3000:]}")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture(scope="session")
def trace() -> Trace:
    """A run with trees of three shapes."""
    return with_figures(FakeLab(shapes=(SMALL, CHAIN, SPARSE)).trace(max_new_tokens=120))


@pytest.fixture
def steps(alone, trace) -> Steps:
    """The step explorer with that run."""
    return alone().open(trace)
