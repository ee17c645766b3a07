"""Attention weights for the page: computed on request, between the turns of a run."""

from __future__ import annotations

import json
import logging
import threading

from pydantic import ValidationError

from explorer.records.attention import AttentionHead, AttentionQuestion, OtherModelError
from explorer.records.errors import ExplorerError
from explorer.ui.limits import Limits
from explorer.ui.worker import ModelWorker

log = logging.getLogger(__name__)
MAX_CHARACTERS = 1_000_000  # of a question
AT_ONCE = 1024  # tokens: a run can wait this long
PLACES = 4  # questions at a time; each further one would hold a thread of the server

WAIT = "The model is busy with other questions: try again in a moment."
BUSY = (
    f"The model is busy with a run, and a text of over {AT_ONCE:,} tokens would delay it: try "
    "again when the run has ended, or stop it."
)
LONG = "Attention weights are computed here for texts of up to {:,} tokens: choose an earlier step."
NO_MODEL = "Attention weights need a model, and this app has none: start it with one."
LOADING = "The model is still loading: try again when it is ready."
NO_QUESTION = "The request does not describe a step: open the trace again."
BUG = "The weights could not be computed: choose another layer or step."


class AttentionDesk:
    """Answers the browser's questions, one after the other. `limits` are those of the host."""

    def __init__(self, worker: ModelWorker, limits: Limits) -> None:
        self._worker, self._limits = worker, limits
        self._places = threading.BoundedSemaphore(PLACES)
        self._one_at_a_time = threading.Lock()  # so that a run's turn comes after each of them

    def answer(self, question: str) -> str:
        """JSON: {"heads": [AttentionHead, …]}, the one that was asked for first, or {"problem": …,
        "able": whether another question about the same trace may be answered}.

        `question` is an AttentionQuestion as JSON. Never raises.
        """
        try:
            heads = self._weigh(_parsed(question))
        except ExplorerError as error:
            able = not isinstance(error, OtherModelError)
            return json.dumps({"problem": str(error), "able": able})
        except Exception:  # a bug: the page must stay usable, and the log must say more
            log.exception("attention weights failed")
            return json.dumps({"problem": BUG})
        return json.dumps({"heads": [head.model_dump() for head in heads]}, separators=(",", ":"))

    def _weigh(self, question: AttentionQuestion) -> list[AttentionHead]:
        self._require_model()
        tokens = len(question.prefix) + len(question.token_ids)
        if tokens > self._limits.attention_tokens:
            raise ExplorerError(LONG.format(self._limits.attention_tokens))
        if tokens > AT_ONCE and self._worker.busy:
            raise ExplorerError(BUSY)
        if not self._places.acquire(blocking=False):
            raise ExplorerError(WAIT)
        try:
            with self._one_at_a_time:
                return self._worker.between_turns(lambda lab: lab.weigh(question))
        finally:
            self._places.release()

    def _require_model(self) -> None:
        if self._worker.lab is None:
            loading = self._worker.status.phase == "loading"
            raise ExplorerError(LOADING) if loading else OtherModelError(NO_MODEL)


def _parsed(question: str) -> AttentionQuestion:
    if not isinstance(question, str) or len(question) > MAX_CHARACTERS:
        raise ExplorerError(NO_QUESTION)
    try:
        return AttentionQuestion.model_validate_json(question)
    except ValidationError as error:
        raise ExplorerError(NO_QUESTION) from error
