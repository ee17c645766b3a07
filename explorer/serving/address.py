"""The address of a server as a person types it, checked before anything is opened."""

from __future__ import annotations

from urllib.parse import urlsplit

from explorer.records.errors import ExplorerError

LONGEST = 300  # characters
EXAMPLE = "http://127.0.0.1:8000"


def server_address(text: str) -> str:
    """`http://host:port` and a path if there is one, without the `/v1` that ends many.

    Raises ExplorerError for what is no such address, and for one that holds a password.
    """
    given = text.strip()
    if not given:
        raise ExplorerError(f"Write the server's address first, for example {EXAMPLE}.")
    if len(given) > LONGEST:
        raise ExplorerError(f"An address has at most {LONGEST} characters: write {EXAMPLE}.")
    try:
        parts = urlsplit(given if "://" in given else f"http://{given}")
        known = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:  # a port that is no number, brackets that do not close
        known = False
    if not known or any(char.isspace() or not char.isprintable() for char in given):
        raise ExplorerError(f"'{given:.60}' is no address of a server: write {EXAMPLE}.")
    if parts.username is not None:
        raise ExplorerError("Leave user and password out of the address: they would be shown.")
    if parts.query or parts.fragment:
        raise ExplorerError(f"An address ends with the port or a path: write {EXAMPLE}.")
    path = parts.path.rstrip("/").removesuffix("/v1")
    return f"{parts.scheme}://{parts.netloc}{path}"
