"""The default model and heads on the real vLLM: `make test-vllm` (docs/serving.md), by hand.

It exports, starts serve.sh three times, one after the other, and asks every development prompt;
half an hour on two cores. VLLM_PYTHON is the Python that has vLLM. PROMPTS=8 makes it shorter;
then the acceptance is compared with a wider tolerance, because there are fewer steps.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest

from explorer.commands import cli
from explorer.serving.client import Ask, ServerClient
from explorer.serving.counters import Counters
from tools import measure_serving as measuring

PYTHON = os.environ.get("VLLM_PYTHON", "")
PROMPTS = int(os.environ.get("PROMPTS", "0")) or None
START_SECONDS, LEAVE_SECONDS = 900, 30
POINTS = 0.03  # of acceptance, over 2,000 steps or more
ASK = Ask("a", "Why is the sky blue?", 48)
pytestmark = pytest.mark.skipif(not PYTHON, reason="VLLM_PYTHON is not set: make test-vllm")


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("served")
    assert cli.main(["export", "--to", "vllm", str(out)]) == 0
    return out


@contextlib.contextmanager
def server(folder: Path, how: str, log: Path):
    """Its address, once it answers."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with log.open("w") as output:
        process = subprocess.Popen(
            ["sh", str(folder / "serve.sh"), how, "--max-model-len", "2048"],
            stdout=output,
            stderr=output,
            start_new_session=True,
            env=os.environ
            | {"PYTHON": PYTHON, "PORT": str(port), "VLLM_CPU_KVCACHE_SPACE": "2"}
            | {"HF_HUB_OFFLINE": "1", "VLLM_SERVER_DEV_MODE": "1", "VLLM_NO_USAGE_STATS": "1"},
        )
    address, end = f"http://127.0.0.1:{port}", time.monotonic() + START_SECONDS
    try:
        while not answers(port):
            assert process.poll() is None, log.read_text()[-2000:]
            assert time.monotonic() < end, log.read_text()[-2000:]
            time.sleep(1)
        yield address
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(LEAVE_SECONDS)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def answers(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


def asked(tmp_path: Path, **more) -> argparse.Namespace:
    return argparse.Namespace(
        out=tmp_path / "record.json",
        prompts=str(measuring.PROMPTS),
        limit=PROMPTS,
        max_new_tokens=128,
        backend="bf16",
        **more,
    )


def test_heads_on_vllm(folder, tmp_path):
    """Metrics are read right, greedy texts are the model's, acceptance is that of a chain here."""
    with server(folder, "medusa", tmp_path / "medusa.log") as address:
        with ServerClient(address) as client:
            info = client.info()
            assert (info.method, info.counts_drafts) == ("medusa", True)
            assert info.engine == "vLLM 0.32.0"
            before = client.counters() or Counters(0, 0, ())
            args = asked(tmp_path, speculative=address, plain=address)
            record = measuring.count_answers(args, measuring.opened(args.out))
            between = client.counters().since(before)
        row = record.rows[0]
        assert between == row.speculation  # responses and counters agree
        check_steps(record.answer)
        record = measuring.check_greedy(args, record)
    assert record.greedy.tokens > 0
    assert max(record.greedy.margins, default=0) <= record.greedy.noise
    record = measuring.count_chains(args, record)
    theirs, ours = (row.speculation for row in record.rows)
    assert PROMPTS or min(theirs.steps, ours.steps) >= 2000
    points = POINTS * max(1, (2000 / min(theirs.steps, ours.steps)) ** 0.5)
    print([f"{share:.3f}" for share in theirs.shares], [f"{share:.3f}" for share in ours.shares])
    assert all(abs(a - b) < points for a, b in zip(theirs.shares, ours.shares, strict=True))


def check_steps(answer) -> None:
    """One arrival for the prompt's own pass and one for each step; the last may be cut short."""
    lengths = [len(ids) for ids in answer.token_ids]
    assert len(lengths) == len(answer.accepted) + 1
    assert lengths[0] == 1
    assert lengths[1:-1] == [1 + accepted for accepted in answer.accepted[:-1]]
    assert 1 <= lengths[-1] <= 1 + answer.accepted[-1]


def test_two_models_on_vllm(folder, tmp_path):
    log = tmp_path / "draft.log"
    with server(folder, "draft-model", log) as address, ServerClient(address) as client:
        assert client.info().method == "draft_model"
        answer = client.answer(client.info().models[0], ASK, token_ids=True)
    assert answer.problem is None
    assert answer.speculation.accepted_at[0] > 0
    print(answer.speculation)


def test_plain_on_vllm(folder, tmp_path):
    log = tmp_path / "plain.log"
    with server(folder, "plain", log) as address, ServerClient(address) as client:
        info = client.info()
        assert (info.method, info.counts_drafts) == (None, False)
        answer = client.answer(info.models[0], ASK, token_ids=True)
    assert answer.problem is None
    assert (answer.speculation, answer.tokens) == (None, 48)
