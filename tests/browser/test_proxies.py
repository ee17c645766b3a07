"""Behind a reverse proxy the page has all of its parts, and a run comes through."""

from contextlib import closing

import pytest

from tests.browser.compare import Compare
from tests.browser.conftest import serving
from tests.browser.proxy import Rules, behind_proxy

WAYS = {
    "prefix stripped": ({"GRADIO_ROOT_PATH": "/medusa"}, Rules(prefix="/medusa")),
    "port lost": ({}, Rules(host="localhost")),
    "other host and TLS": ({}, Rules(tls=True)),
    "prefix, port and TLS": (
        {"GRADIO_ROOT_PATH": "/medusa"},
        Rules(prefix="/medusa", host="localhost", tls=True),
    ),
}


@pytest.fixture(scope="module", params=WAYS.values(), ids=WAYS)
def url(request, tmp_path_factory):
    environment, rules = request.param
    folder = tmp_path_factory.mktemp("proxy")
    with (
        serving(["-m", "tests.ui.serve_fake"], folder, environment) as app,
        behind_proxy(app, rules, folder) as address,
    ):
        yield address


def test_a_run_comes_through(url, tab):
    explore = tab(f"{url}/", ignore_https_errors=True).ready()
    explore.run("Say three words", 8).done()
    assert explore.page.locator(".sx-lanes").count() == 1
    assert explore.errors == []


def test_compare_has_its_parts(url, browser):
    with closing(browser.new_context(ignore_https_errors=True)) as context:
        page = Compare(context.new_page(), url).ready()
        assert page.errors == []


def test_learn_has_its_parts(url, browser):
    with closing(browser.new_context(ignore_https_errors=True)) as context:
        page = context.new_page()
        page.goto(f"{url}/learn#memory_wall")
        page.wait_for_selector("#memory_wall .lx-widget.is-ready")
        page.click("button:text-is('this machine')")  # measured, as the app says
        assert page.inner_text(".is-current [data-figure=weights]")
        page.click(".mx-pages a:text-is('Explore')")
        page.wait_for_selector("#mx-run")


def test_an_example_is_filled_in_from_the_address(url, tab):
    explore = tab(f"{url}/#prompt=Hello%20there", ignore_https_errors=True)
    explore.page.wait_for_function(
        "document.querySelector('#mx-prompt textarea').value === 'Hello there'"
    )
