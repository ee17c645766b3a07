"""Chromium, and the app as a process of its own: with the default model, or with a script."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

from tests.browser.explore import Explore

ROOT = Path(__file__).resolve().parents[2]
PLACES = ("/usr/bin/chromium", "chromium", "chromium-browser", "google-chrome")
START_SECONDS = 60


@pytest.fixture(scope="session")
def browser() -> Iterator:
    with sync_playwright() as playwright:
        arguments = ["--no-sandbox"] if os.name == "posix" and os.geteuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=_chromium(), args=arguments)
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


@pytest.fixture
def tab(browser) -> Iterator:
    """Opens pages, each in a context of its own (another visitor)."""
    contexts = []

    def open_tab(url: str, **options: object) -> Explore:
        options = {"viewport": {"width": 1440, "height": 1000}} | options
        contexts.append(browser.new_context(accept_downloads=True, **options))
        return Explore(contexts[-1].new_page(), url)

    yield open_tab
    for context in contexts:
        context.close()


def _chromium() -> str | None:
    """CHROMIUM, else a browser of the system, else (None) Playwright's own."""
    for place in (os.environ.get("CHROMIUM"), *PLACES):
        if place and (found := shutil.which(place)):
            return found
    return None


def _serve(command: list[str], folder: Path) -> Iterator[str]:
    port = _free_port()
    log = folder / "log.txt"
    with log.open("w") as output:
        process = subprocess.Popen(
            [sys.executable, *command, str(port)],
            cwd=ROOT,
            stdout=output,
            stderr=output,
            # One core for the model: the browser, which draws in software here, needs the other.
            env=os.environ | {"OMP_NUM_THREADS": "1"},
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
