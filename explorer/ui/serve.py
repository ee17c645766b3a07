"""Starts the web app: the page answers at once, the model loads behind it."""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, get_args

import gradio as gr
from starlette.middleware import Middleware

from explorer.records.progress import Progress
from explorer.records.settings import Backend, Device
from explorer.ui.api import connect_api
from explorer.ui.compare_handlers import connect_compare
from explorer.ui.handlers import connect
from explorer.ui.limits import PRIVATE, PUBLIC, Limits
from explorer.ui.no_files import NoFiles
from explorer.ui.step_explorer import routes
from explorer.ui.theme import STYLE_SHEETS, theme
from explorer.ui.worker import ModelWorker, RecordedOnlyError

if TYPE_CHECKING:
    from explorer.lab.lab import Lab


SPACE_PORT = 7860
TITLE = "Medusa Explorer"
NO_MCP = "--mcp needs one package more: pip install -r requirements-mcp.txt"
REPLAY = (
    "Recorded runs only: open one from the list below, or a saved trace. To run prompts, start the "
    "app without --replay."
)


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
    out.add_argument("--adapter", metavar="FOLDER", help="a LoRA adapter made by 'train joint'")
    out.add_argument("--backend", choices=get_args(Backend), default="auto")
    out.add_argument("--device", choices=get_args(Device), default="auto")
    out.add_argument(
        "--replay",
        action="store_true",
        help="no model: look at recorded runs only (needs neither torch nor weights)",
    )
    out.add_argument(
        "--public",
        action="store_true",
        default=on_space,
        help="limits for a host that anyone may use",
    )
    out.add_argument(
        "--mcp",
        action="store_true",
        help="offer run and race as tools to agents, over the Model Context Protocol (needs "
        "requirements-mcp.txt)",
    )
    return out


def build_app(worker: ModelWorker, limits: Limits) -> gr.Blocks:
    """The whole app; nothing is loaded yet."""
    with gr.Blocks(
        title=TITLE,
        analytics_enabled=False,
        fill_width=True,
    ) as demo:
        connect_api(worker, limits, demo)  # first: its names are taken as they are
        connect(worker, limits, demo)
    with demo.route("Compare", "/compare", show_in_navbar=False):
        connect_compare(worker, limits, demo)
    demo.queue(default_concurrency_limit=16, max_size=4 * limits.waiting_runs, api_open=False)
    return demo


def serve(
    worker: ModelWorker, limits: Limits, host: str | None, port: int | None, mcp: bool = False
) -> gr.Blocks:
    """Launch the app and begin to load; returns while both go on. `mcp`: with tools for agents."""
    demo = build_app(worker, limits)
    on_space = "SPACE_ID" in os.environ
    demo.launch(
        server_name=host or ("0.0.0.0" if on_space else None),
        server_port=port or (SPACE_PORT if on_space else None),
        theme=theme(),
        css_paths=STYLE_SHEETS,
        footer_links=["api"],
        share=False,
        quiet=True,
        ssr_mode=False,
        pwa=False,
        run_history=False,
        mcp_server=mcp,
        enable_monitoring=False,
        max_file_size="1kb",  # nothing is uploaded
        prevent_thread_lock=True,
        app_kwargs={"routes": routes(), "middleware": [Middleware(NoFiles)]},
    )
    worker.start()
    return demo


def replay(progress: Progress) -> Lab:
    """Loads nothing: the page then shows recorded runs."""
    raise RecordedOnlyError(REPLAY)


def loader(args: argparse.Namespace) -> Callable[[Progress], Lab]:
    """Loads what the command line names; imports torch only when it is called."""

    def load(progress: Progress) -> Lab:
        progress("Importing the libraries", None)
        from explorer.lab.loading import load as load_lab

        return load_lab(
            preset=args.preset,
            model=args.model,
            heads=args.heads,
            adapter=args.adapter,
            backend=args.backend,
            device=args.device,
            progress=progress,
        )

    return load


def main(argv: Sequence[str] | None = None) -> int:
    """Run the app until it is stopped. Returns the exit status."""
    args = parser().parse_args(argv)
    if args.mcp and importlib.util.find_spec("mcp") is None:
        print(f"app.py: {NO_MCP}", file=sys.stderr)
        return 2
    try:
        worker = ModelWorker(replay if args.replay else loader(args))
        demo = serve(worker, PUBLIC if args.public else PRIVATE, args.host, args.port, args.mcp)
    except OSError:
        where = f"{args.host or 'this machine'}, port {args.port or 'any'}"
        print(
            f"app.py: cannot listen on {where}: choose another --host or --port.", file=sys.stderr
        )
        return 2
    print(f"{TITLE} is at {demo.local_url}", flush=True)
    demo.block_thread()
    return 0
