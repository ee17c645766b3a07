"""Whatever proxy the environment names: clients can be made, or one sentence says why not."""

import httpx
import pytest

from explorer.records.errors import ExplorerError
from explorer.records.proxies import NAMES, settle_proxies


@pytest.fixture(autouse=True)
def _none(monkeypatch):
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.mark.parametrize("name", ["all_proxy", "ALL_PROXY", "https_proxy", "HTTP_PROXY"])
@pytest.mark.parametrize(
    "proxy", ["socks://", "SOCKS://", "socks5://", "socks5h://", "http://", "https://", ""]
)
def test_a_client_can_be_made(monkeypatch, name, proxy):
    monkeypatch.setenv(name, f"{proxy}127.0.0.1:9")
    settle_proxies()
    with httpx.Client() as client, pytest.raises(httpx.TransportError):  # port 9 answers nobody
        client.get("http://example.invalid" if "HTTP_" in name else "https://example.invalid")


def test_another_kind_is_refused_by_the_variables_name_without_its_password(monkeypatch):
    monkeypatch.setenv("ALL_PROXY", "socks4://me:secret@127.0.0.1:9")
    with pytest.raises(ExplorerError, match="ALL_PROXY is a proxy of the kind 'socks4'") as caught:
        settle_proxies()
    assert "secret" not in str(caught.value)


def test_no_proxy_is_no_reason_to_refuse(monkeypatch):
    monkeypatch.setenv("all_proxy", "")
    settle_proxies()
