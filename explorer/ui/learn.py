"""Learn, as the app serves it: a document of its own, beside Gradio's pages."""

from __future__ import annotations

from functools import cache
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import BaseRoute, Route

from explorer.learn.best_tree import this_machine
from explorer.learn.document import data_json, document
from explorer.ui.class_session import ClassSession, class_routes
from explorer.ui.fault_desk import FaultDesk
from explorer.ui.own_runs import OwnRuns, own_run_routes
from explorer.ui.worker import ModelWorker

NO_CACHE = {"cache-control": "no-cache"}


def learn_routes(worker: ModelWorker, own: bool = False) -> list[BaseRoute]:
    """The page, its widgets' data, and what it asks of the running app.

    `own`: the app runs for its own user, who may train heads with it and look at own runs.
    """
    lessons = ClassSession(worker, own)

    async def state(request: Request) -> Response:
        return JSONResponse(machine_state(worker) | allowed(worker, own), headers=NO_CACHE)

    async def costs(request: Request) -> Response:
        return JSONResponse(await run_in_threadpool(machine_costs, worker), headers=NO_CACHE)

    desk = FaultDesk(worker)

    async def fault(request: Request) -> Response:
        status, text = await run_in_threadpool(desk.answer, request.path_params["fault"])
        kind = "application/json" if status == 200 else "text/plain"
        return Response(text, status, media_type=kind, headers=NO_CACHE)

    return [
        Route("/learn", _page),
        Route("/learn-data/{key}.json", _data),
        Route("/learn-live/state", state),
        Route("/learn-live/fault/{fault}", fault, methods=["POST"]),
        Route("/learn-live/costs", costs),
        *class_routes(lessons),
        *own_run_routes(OwnRuns(worker, own)),
    ]


def machine_state(worker: ModelWorker) -> dict[str, object]:
    """Whether a model is loaded, and what was measured of this machine meanwhile."""
    lab = worker.lab
    if lab is None:
        return {"model": None}
    return {
        "model": lab.description,
        "bandwidth": lab.read_bandwidth,
    }


def allowed(worker: ModelWorker, own: bool) -> dict[str, bool]:
    """Whether a visitor's own runs are looked at, and whether prompts are run for that."""
    return {"own": own, "runs": own and worker.status.phase != "failed"}


def machine_costs(worker: ModelWorker) -> dict[str, Any] | None:
    """What the chapter on the best tree draws of this machine; None: its costs are not known."""
    heads = {} if worker.lab is None else worker.lab.heads
    costs = next((one.costs for one in heads.values() if one.costs), None)
    return None if costs is None else this_machine(costs)


@cache
def _document() -> str:
    return document()


def _page(request: Request) -> Response:
    return HTMLResponse(_document(), headers=NO_CACHE)


def _data(request: Request) -> Response:
    found = data_json(request.path_params["key"])
    if found is None:
        return Response("There is no such chapter.", 404)
    return Response(found, media_type="application/json", headers=NO_CACHE)
