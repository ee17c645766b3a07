"""Many requests at one server, some of them at a time: how fast it answers all together."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from itertools import cycle, islice

import numpy as np

from explorer.records.prompts import Prompt
from explorer.records.serving import Answer, LoadFigures, Percentiles, Source, Speculation, together
from explorer.serving.client import Ask, ServerClient
from explorer.serving.counters import Counters

MAX_AT_ONCE, MAX_REQUESTS = 16, 256
POLL = 0.25  # seconds


class Load:
    """`requests` requests over the prompts in turn, `concurrency` at a time; once only."""

    def __init__(
        self,
        client: ServerClient,
        model: str,
        prompts: Sequence[Prompt],
        concurrency: int,
        requests: int,
        max_tokens: int,
        token_ids: bool = False,
    ) -> None:
        """`prompts` are records with "id" and "prompt"."""
        self._client, self._model, self._token_ids = client, model, token_ids
        self._asks = [
            Ask(record["id"], record["prompt"], max_tokens)
            for record in islice(cycle(prompts), requests)
        ]
        self._concurrency = concurrency
        self._before: Counters | None = None
        self._after: Counters | None = None
        self._start = self._end = 0.0
        self.done: list[Answer] = []

    def answers(self, cancel: threading.Event) -> Iterator[list[Answer]]:
        """What has come since the last time, now and then; an empty list where nothing has.

        A cancel ends all of it at once, and so does closing this.
        """
        self._before = self._client.counters(self._model)
        pool = ThreadPoolExecutor(self._concurrency, thread_name_prefix="load")
        self._start = self._end = time.perf_counter()
        left = {pool.submit(self._answer, ask, cancel) for ask in self._asks}
        try:
            while left and not cancel.is_set():
                finished, left = wait(left, POLL, FIRST_COMPLETED)
                come = [work.result() for work in finished]
                if cancel.is_set():  # what it broke off is no failure of the server's
                    come = [answer for answer in come if answer.problem is None]
                self.done += come
                self._end = time.perf_counter() if come else self._end
                yield come
        finally:
            if left:
                cancel.set()
            pool.shutdown(wait=not left, cancel_futures=True)
        self._after = self._client.counters(self._model)

    def _answer(self, ask: Ask, cancel: threading.Event) -> Answer:
        return self._client.answer(self._model, ask, cancel, self._token_ids)

    def figures(self) -> LoadFigures:
        """Of the answers so far. Counters are read before the first and after the last request."""
        whole = [answer for answer in self.done if answer.problem is None]
        reported = [answer.speculation for answer in whole if answer.speculation is not None]
        speculation, source = self._speculation(reported, len(whole))
        after_first = sum(answer.tokens - 1 for answer in whole if answer.tokens > 1)
        return LoadFigures(
            concurrency=self._concurrency,
            requests=len(whole),
            failed=len(self.done) - len(whole),
            tokens=sum(answer.tokens for answer in whole),
            seconds=self._end - self._start,
            first_token=percentiles([x for a in whole if (x := a.first_token) is not None]),
            gap=percentiles([gap for answer in whole for gap in answer.gaps]),
            per_token=percentiles([x for a in whole if (x := a.per_token) is not None]),
            mean_per_token=sum(a.writing for a in whole) / after_first if after_first else None,
            speculation=speculation,
            source=source,
        )

    def _speculation(
        self, reported: list[Speculation], answers: int
    ) -> tuple[Speculation | None, Source | None]:
        """From the responses if all of them report it, else from the counters."""
        if reported and len(reported) == answers:
            return together(reported), "responses"
        if self._before is not None and self._after is not None:
            between = self._after.since(self._before)
            return between, "counters" if between else None
        return None, None


def percentiles(seconds: Sequence[float]) -> Percentiles | None:
    """Half, nine tenths and 99 hundredths of the times lie at or below; None where there are none.

    Between two measured times it is interpolated.
    """
    if not seconds:
        return None
    p50, p90, p99 = (float(x) for x in np.percentile(seconds, (50, 90, 99)))
    return Percentiles(p50=p50, p90=p90, p99=p99)
