"""Plain decoding by llama.cpp, as a program of its own: one JSON object a line, in and out.

The Python of an environment with `xllamacpp` runs it; it does not import the rest of this
package. `measuring/llama_cpp_process.py` starts it. The first request opens a model and every
further one decodes a prompt greedily; each is answered by one line, which holds "error" where it
failed. It ends with its standard input.

    {"model": PATH, "threads": T, "context": SLOTS}  →  {"version": V}
    {"prompt": TOKEN IDS, "max_new_tokens": N}       →  see `decoded`
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, TextIO


def open_model(request: dict[str, Any]) -> Any:
    """A server without a network port around the GGUF file, on the CPU, for one text at a time."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = request["model"]
    params.n_ctx, params.n_parallel = request["context"], 1
    params.n_gpu_layers = 0
    params.cache_ram_mib = 0  # it would keep the texts of earlier prompts
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = request["threads"]
    try:
        return xllamacpp.Server(params)
    except RuntimeError as error:  # it says why on standard error alone
        raise RuntimeError(f"this file cannot be opened ({error})") from error


def decoded(server: Any, request: dict[str, Any]) -> dict[str, Any]:
    """One greedy reply: its token ids, and the time of the passes after the prompt's.

    llama.cpp's clock starts with the first new token, which the prompt's pass has given: so
    `predicted_ms` holds one pass fewer than there are tokens, and `passes` says how many.
    """
    answer = server.handle_completions(
        {
            "prompt": request["prompt"],
            "max_tokens": request["max_new_tokens"],
            "temperature": 0,
            "samplers": ["temperature"],  # its other samplers cost time and have no effect here
            "cache_prompt": False,
            "return_tokens": True,
            "verbose": True,
        }
    )
    if isinstance(answer, str):
        answer = json.loads(answer)
    if "error" in answer:
        raise RuntimeError(answer["error"].get("message", "no reason given"))
    timings = answer["timings"]
    return {
        "tokens": answer["__verbose"]["tokens"],
        "passes": max(0, timings["predicted_n"] - 1),
        "milliseconds": timings["predicted_ms"],
        "prompt_tokens": timings["prompt_n"] + timings["cache_n"],
    }


class Idling:
    """How much time, by the clock and on the CPU, passes between an answer and a request."""

    def __init__(self) -> None:
        self._since = self._now()
        self._seconds = self._cpu_seconds = 0.0

    def begin(self) -> None:
        """The answer was sent."""
        self._since = self._now()

    def end(self) -> None:
        """A request arrived."""
        wall, cpu = self._now()
        self._seconds += wall - self._since[0]
        self._cpu_seconds += cpu - self._since[1]

    def figures(self) -> dict[str, float]:
        """Both sums so far, in seconds."""
        return {"idle_seconds": self._seconds, "idle_cpu_seconds": self._cpu_seconds}

    @staticmethod
    def _now() -> tuple[float, float]:
        return time.perf_counter(), time.process_time()


def requests(lines: TextIO, idling: Idling) -> Iterator[dict[str, Any]]:
    """The requests in order; records the CPU time of waiting for them."""
    for line in lines:
        idling.end()
        yield json.loads(line)


def serve(lines: TextIO, answers: TextIO) -> None:
    """Answer every request, in order."""

    def answer(work: Callable[[], dict[str, Any]]) -> None:
        try:
            result = work()
        except Exception as error:  # any error: the other side needs the answer
            result = {"error": f"{error}".strip() or type(error).__name__}
        print(json.dumps(result), file=answers, flush=True)
        idling.begin()

    def opened(request: dict[str, Any]) -> dict[str, Any]:
        import xllamacpp

        nonlocal server
        server = open_model(request)
        return {"version": f"xllamacpp {xllamacpp.__version__}"}

    server, idling = None, Idling()
    for request in requests(lines, idling):
        if "model" in request:
            answer(lambda request=request: opened(request))
        else:
            answer(lambda request=request: decoded(server, request) | idling.figures())


def main() -> None:
    """Serve on standard input and output; whatever llama.cpp prints goes to standard error."""
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as answers:
        os.dup2(2, 1)
        serve(sys.stdin, answers)


if __name__ == "__main__":
    main()
