"""Proxies named in the environment, in a form that every network client here takes.

The Hub's client, Gradio's and our own are all httpx, which fails on an address that it does not
know even before it looks whether the proxy concerns the host at all.
"""

from __future__ import annotations

import os

from explorer.records.errors import ExplorerError

NAMES = ("http_proxy", "https_proxy", "all_proxy")
USABLE = ("http", "https", "socks5", "socks5h")


def settle_proxies() -> None:
    """Write desktops' `socks://` as `socks5://` in the environment.

    Raises ExplorerError that names a variable whose address has another scheme.
    """
    for name in (form for each in NAMES for form in (each, each.upper())):
        scheme, mark, rest = os.environ.get(name, "").partition("://")
        if not mark or scheme.lower() in USABLE:
            continue
        if scheme.lower() != "socks":
            raise ExplorerError(
                f"The environment's {name} is a proxy of the kind '{scheme:.20}', which is not "
                f"supported: give one of the kinds {', '.join(USABLE)}, or unset it."
            )
        os.environ[name] = f"socks5://{rest}"
