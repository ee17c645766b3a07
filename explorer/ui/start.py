"""`python app.py`: reads the options, checks their paths, then starts the page.

It reports a wrong path before it imports gradio and torch, which take seconds.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import socket
import sys
from collections.abc import Sequence
from typing import get_args

from explorer.records.errors import ExplorerError
from explorer.records.proxies import settle_proxies
from explorer.records.settings import Backend, Device, HeadsDtype
from explorer.weights.places import require_places
from explorer.weights.presets import model_options

MAX_PORT = 65_535
NO_MCP = "--mcp needs another package: pip install -r requirements-mcp.txt"


def parser() -> argparse.ArgumentParser:
    """The options of `python app.py`."""
    on_space = "SPACE_ID" in os.environ
    out = argparse.ArgumentParser(
        prog="app.py", description="Medusa Explorer, the web app.", allow_abbrev=False
    )
    out.add_argument("--host", help="address to listen on (default 127.0.0.1)")
    out.add_argument("--port", type=int, help="port (default: the first free one from 7860)")
    which = out.add_mutually_exclusive_group()
    which.add_argument("--preset", default="default", metavar="NAME")
    which.add_argument("--model", metavar="ID_OR_PATH", help="a Hub id, folder or GGUF file")
    out.add_argument("--heads", metavar="ID_OR_PATH", help="Medusa heads that fit the model")
    out.add_argument("--num-heads", type=int, metavar="N", help="use the first N heads alone")
    out.add_argument("--heads-dtype", choices=get_args(HeadsDtype), default="auto")
    out.add_argument("--heads-vocabulary", type=int, metavar="N", help="only N frequent tokens")
    out.add_argument("--adapter", metavar="FOLDER", help="a LoRA adapter made by 'train joint'")
    out.add_argument("--backend", choices=get_args(Backend), default="auto")
    out.add_argument("--device", choices=get_args(Device), default="auto")
    out.add_argument(
        "--replay",
        action="store_true",
        help="no model: show recorded runs only (needs neither torch nor weights)",
    )
    out.add_argument(
        "--public",
        action="store_true",
        default=on_space,
        help="limits for a host that anyone can use",
    )
    out.add_argument(
        "--mcp",
        action="store_true",
        help="offer run and race as tools to agents, over the Model Context Protocol (needs "
        "requirements-mcp.txt)",
    )
    return out


def main(argv: Sequence[str] | None = None) -> int:
    """Run the app until it is stopped. Returns the exit status."""
    args = parser().parse_args(argv)
    if args.mcp and importlib.util.find_spec("mcp") is None:
        return _refused(NO_MCP)
    try:
        settle_proxies()
        if not args.replay:
            require_places(model_options(preset=args.preset, model=args.model, heads=args.heads))
        _require_address(args.host, args.port)
    except ExplorerError as error:
        return _refused(str(error))
    from explorer.ui import serve

    try:
        demo = serve.serve(*serve.what_to_serve(args))
    except OSError:
        return _refused(_cannot_listen(args.host, args.port))
    except Exception as error:  # httpx's behind a proxy, Gradio's own, uvicorn's
        reason = (str(error).splitlines() or ["no details"])[0]
        return _refused(
            f"the page cannot be started ({type(error).__name__}: {reason:.200}): choose another "
            "--host or --port, and check the proxy settings."
        )
    print(f"{serve.TITLE} is at {demo.local_url}", flush=True)
    demo.block_thread()
    return 0


def _require_address(host: str | None, port: int | None) -> None:
    """Raise ExplorerError for what is no port, or no address of this machine.

    uvicorn would first write an error of its own.
    """
    if port is not None and not 0 <= port <= MAX_PORT:
        raise ExplorerError(f"there is no port {port!s:.20}: choose one from 1 to {MAX_PORT}.")
    if not host:
        return
    try:
        found = socket.getaddrinfo(host.strip("[]"), None, type=socket.SOCK_STREAM)
        family, kind, *_, address = found[0]
        with socket.socket(family, kind) as probe:
            probe.bind(address)
    except (OSError, UnicodeError) as error:  # UnicodeError: a name that no domain can have
        raise ExplorerError(_cannot_listen(host, port)) from error


def _cannot_listen(host: str | None, port: int | None) -> str:
    where = f"{host or 'this machine'}, port {port or 'any'}"
    return f"cannot listen on {where}: choose another --host or --port."


def _refused(why: str) -> int:
    print(f"app.py: {why}", file=sys.stderr)
    return 2
