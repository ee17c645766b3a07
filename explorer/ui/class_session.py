"""The class of Learn: heads that train with the loaded model, one class at a time."""

from __future__ import annotations

import datetime
import logging
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from explorer.records.errors import ExplorerError
from explorer.records.paths import ASSETS
from explorer.ui.worker import ModelWorker

if TYPE_CHECKING:
    from explorer.lab.lab import Lab

log = logging.getLogger(__name__)
DATA = ASSETS / "training" / "conversations.jsonl.gz"
TURN = 1.0  # seconds of training between two looks at whether to stop
WAIT = 0.2  # seconds between two looks at the queue
OWN_HEADER = "x-medusa-explorer"  # a form of another site cannot send it
READS = "The model reads the text of the class"
STOPPED_EARLY = "The class was stopped before its heads had learned anything."
NOTHING_TO_KEEP = "There is nothing to keep: these heads have not learned yet."
NOT_HERE = "Heads are trained on one's own machine only: here a recorded class is shown."


def lessons_of(lab: Lab, folder: Path) -> Iterator[Any]:
    """A class on the model of a lab."""
    from explorer.lab.taught import taught
    from explorer.training.classroom import Lesson

    return taught(lab, Lesson(DATA, folder))


class ClassSession:
    """One class, and what was seen of it. `own`: the app runs for its own user."""

    def __init__(
        self,
        worker: ModelWorker,
        own: bool,
        lessons: Callable[[Lab, Path], Iterator[Any]] = lessons_of,
    ) -> None:
        self._worker, self._own, self._lessons = worker, own, lessons
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._running = False
        self._begun: Any = None
        self._frames: list[dict[str, Any]] = []
        self._said = self._kept = ""

    def state(self) -> dict[str, Any]:
        """What the page shows."""
        can = self._own and self._worker.lab is not None
        with self._lock:
            begun = self._begun
            lesson = begun and begun.record | {"frames": list(self._frames)}
            said = self._said or ("" if can else self._why_not())
            return {"can": can, "running": self._running, "said": said, "lesson": lesson}

    def start(self) -> None:
        """Begin a class, unless one is running or nothing can run."""
        with self._lock:
            if self._running or not self._own or self._worker.lab is None:
                return
            self._running, self._said = True, f"{READS}."
            self._begun, self._frames, self._kept = None, [], ""
            self._stop.clear()
        threading.Thread(target=self._teach, daemon=True).start()

    def stop(self) -> None:
        """End the class; its heads can still be kept."""
        with self._lock:
            if self._running:
                self._said = "The class is about to stop."
                self._stop.set()

    def reset(self) -> None:
        """Forget the class that ended."""
        with self._lock:
            if not self._running:
                self._begun, self._frames, self._said = None, [], ""

    def keep(self) -> None:
        """Save the heads of the class that ended in a new folder of the working directory, once."""
        with self._lock:
            if self._running or self._begun is None or self._kept:
                return
            if not self._learned():
                self._said = NOTHING_TO_KEEP
                return
            keep = self._begun.keep
        folder = Path(f"class-heads-{datetime.datetime.now():%Y%m%d-%H%M%S}")
        try:
            self._worker.between_turns(lambda lab: keep(folder))
        except ExplorerError as error:
            self._said = str(error)
        else:
            self._kept = str(folder)
            self._said = f"Kept: python app.py --heads {folder} runs with them."

    def _learned(self) -> bool:
        return any(frame["update"] > 0 for frame in self._frames)

    def _why_not(self) -> str:
        return NOT_HERE if not self._own else self._worker.status.text

    def _teach(self) -> None:
        ticket = self._worker.enter()
        said = ""
        try:
            while self._worker.ahead(ticket) and not self._stop.is_set():
                time.sleep(WAIT)
            with tempfile.TemporaryDirectory() as folder:
                self._advance(Path(folder))
        except ExplorerError as error:
            said = str(error)
        except Exception as error:
            log.exception("the class failed")
            said = f"The class ended with an error ({type(error).__name__}): start it again."
        finally:
            self._worker.leave(ticket)
            with self._lock:
                over = "The class is over." if self._learned() else STOPPED_EARLY
                self._running, self._said = False, said or over

    def _advance(self, folder: Path) -> None:
        turns = self._worker.turns(lambda lab: self._lessons(lab, folder))
        try:
            while not self._stop.is_set() and (seen := turns.advance(TURN)) is not None:
                for one in filter(None, seen):
                    self._note(one)
        finally:
            turns.close()

    def _note(self, seen: Any) -> None:
        with self._lock:
            if not isinstance(seen, dict):
                self._begun = seen
                return
            if "reading" in seen:
                said = f"{READS}: {seen['reading']} of {seen['of']} parts."
            else:
                self._frames.append(seen)
                said = f"In class: {seen['update']} updates."
            if not self._stop.is_set():
                self._said = said


def class_routes(session: ClassSession) -> list[BaseRoute]:
    """What the page asks of a class, and does with it."""

    def state(request: Request) -> Response:
        return JSONResponse(session.state(), headers={"cache-control": "no-cache"})

    def act(request: Request) -> Response:
        actions = {
            "start": session.start,
            "stop": session.stop,
            "reset": session.reset,
            "keep": session.keep,
        }
        action = actions.get(request.path_params["does"])
        if action is None or OWN_HEADER not in request.headers:
            return Response("A class can be started, stopped, reset and kept.", 400)
        action()
        return state(request)

    return [
        Route("/learn-live/class", state),
        Route("/learn-live/class/{does}", act, methods=["POST"]),
    ]
