"""Starts the web app: the page answers at once, the model loads in the background."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from typing import TYPE_CHECKING

import gradio as gr
from starlette.middleware import Middleware

from explorer.records.progress import Progress
from explorer.ui.api import connect_api
from explorer.ui.compare_handlers import connect_compare
from explorer.ui.compressed import CompressedPages
from explorer.ui.handlers import connect
from explorer.ui.heads_handlers import connect_heads
from explorer.ui.learn import learn_routes
from explorer.ui.limits import PRIVATE, PUBLIC, Limits
from explorer.ui.no_files import NoFiles
from explorer.ui.served_rows import ServedRows
from explorer.ui.serving_handlers import connect_serving
from explorer.ui.step_explorer import routes
from explorer.ui.theme import STYLE_SHEETS, theme
from explorer.ui.tree_handlers import connect_tree
from explorer.ui.worker import ModelWorker, RecordedOnlyError

if TYPE_CHECKING:
    from explorer.lab.lab import Lab


SPACE_PORT = 7860
TITLE = "Medusa Explorer"
REPLAY = (
    "Recorded runs only: choose an example, or open a saved trace. To run prompts, start the app "
    "without --replay."
)


def build_app(worker: ModelWorker, limits: Limits) -> gr.Blocks:
    """The whole app; nothing is loaded yet."""
    served = ServedRows()
    with gr.Blocks(
        title=TITLE,
        analytics_enabled=False,
        fill_width=True,
    ) as demo:
        connect_api(worker, limits, demo)  # first: its names are taken as they are
        connect(worker, limits, demo)
    with demo.route("Compare", "/compare", show_in_navbar=False):
        connect_compare(worker, limits, demo, served)
    with demo.route("Tree lab", "/tree", show_in_navbar=False):
        connect_tree(worker, demo)
    with demo.route("Heads", "/heads", show_in_navbar=False):
        connect_heads(worker, limits, demo)
    with demo.route("Serve", "/serve", show_in_navbar=False):
        connect_serving(worker, limits, demo, served)
    demo.queue(default_concurrency_limit=16, max_size=4 * limits.waiting_runs, api_open=False)
    return demo


def serve(
    worker: ModelWorker, limits: Limits, host: str | None, port: int | None, mcp: bool = False
) -> gr.Blocks:
    """Launch the app and begin to load; returns meanwhile. `mcp`: with tools for agents."""
    demo = build_app(worker, limits)
    on_space = "SPACE_ID" in os.environ
    bypass_proxies(host)
    demo.launch(
        root_path=root_path(),
        server_name=bracketed(host) or ("0.0.0.0" if on_space else None),
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
        app_kwargs={
            "routes": routes() + learn_routes(worker, own=limits.free_tree),
            "middleware": [Middleware(NoFiles), Middleware(CompressedPages)],
        },
    )
    worker.start()
    return demo


def root_path() -> str | None:
    """$GRADIO_ROOT_PATH, as a path with its slash in front or as a whole address."""
    given = os.environ.get("GRADIO_ROOT_PATH", "").strip()
    return (
        f"/{given}"
        if given and not given.startswith(("/", "http://", "https://"))
        else given or None
    )


def bracketed(host: str | None) -> str | None:
    """An IPv6 address in brackets, as it is written in front of a port; other hosts as they are."""
    return f"[{host}]" if host and ":" in host and not host.startswith("[") else host


def bypass_proxies(host: str | None) -> None:
    """Let Gradio's check of its own server bypass a proxy."""
    own = ["127.0.0.1", "localhost", "::1", *([host.strip("[]")] if host else [])]
    for name in ("NO_PROXY", "no_proxy"):
        listed = [entry for entry in os.environ.get(name, "").split(",") if entry.strip()]
        os.environ[name] = ",".join(dict.fromkeys([*listed, *own]))


def replay(progress: Progress) -> Lab:
    """Loads nothing: the page then shows recorded runs."""
    raise RecordedOnlyError(REPLAY)


def what_to_serve(
    args: argparse.Namespace,
) -> tuple[ModelWorker, Limits, str | None, int | None, bool]:
    """The arguments of `serve` for the options of the command line."""
    worker = ModelWorker(replay if args.replay else loader(args))
    worker.recorded_only = args.replay
    return worker, PUBLIC if args.public else PRIVATE, args.host, args.port, args.mcp


def loader(args: argparse.Namespace) -> Callable[[Progress], Lab]:
    """Loads what the command line names; imports torch only when it is called."""

    def load(progress: Progress) -> Lab:
        progress("Importing the libraries", None)
        from explorer.lab.loading import load as load_lab

        return load_lab(
            preset=args.preset,
            model=args.model,
            heads=args.heads,
            num_heads=args.num_heads,
            heads_dtype=args.heads_dtype,
            heads_vocabulary=args.heads_vocabulary,
            adapter=args.adapter,
            backend=args.backend,
            device=args.device,
            progress=progress,
        )

    return load
