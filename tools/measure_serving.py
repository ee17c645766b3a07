"""Measures heads on a vLLM server against this explorer, into the record that the Serve page shows.

    python -m tools.measure_serving load --speculative URL --plain URL --out FILE
    python -m tools.measure_serving answers --speculative URL --out FILE
    python -m tools.measure_serving chains --out FILE
    python -m tools.measure_serving greedy --plain URL --out FILE
    python -m tools.measure_serving explorer --out FILE

Each part adds to the file. `load` times requests at 1, 2, 4, 8 and 16 at a time; `answers` counts
what the server accepts, and keeps its texts beside the file; `chains` counts what this explorer
accepts on the same prompts; `greedy` reads the server's texts again; `explorer` times this
explorer. Run `load` and `explorer` on a quiet machine, servers started as serve.sh starts them.
"""

from __future__ import annotations

import argparse
import datetime
import os
import platform
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path

import httpx
from pydantic import TypeAdapter

from explorer.decoding.loop import StepResult
from explorer.records.prompts import Prompt, read_prompts
from explorer.records.serving import (
    Answer,
    EngineRow,
    GreedyCheck,
    LoadFigures,
    ServingRecord,
    Speculation,
)
from explorer.records.settings import decode_settings
from explorer.serving.client import ServerClient
from explorer.serving.load import Load

ROOT = Path(__file__).resolve().parents[1]
PROMPTS = ROOT / "assets" / "dev_prompts.jsonl"
LEVELS = (1, 2, 4, 8, 16)
ANSWERS = TypeAdapter(list[Answer])
DRAFTS = 4  # heads
TOP = 2  # alternatives that a server gives at a position


def main() -> None:
    """One part, into the file."""
    parts = {
        "load": load_both,
        "answers": count_answers,
        "chains": count_chains,
        "greedy": check_greedy,
        "explorer": time_explorer,
    }
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("part", choices=parts)
    parser.add_argument("--speculative", metavar="URL")
    parser.add_argument("--plain", metavar="URL")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--prompts", default=str(PROMPTS))
    parser.add_argument("--limit", type=int)
    parser.add_argument("--levels", type=int, nargs="+", default=LEVELS)
    parser.add_argument("--max-new-tokens", type=int, default=128)
    parser.add_argument("--backend", default="bf16", help="of this explorer")
    parser.add_argument("--trees", nargs="+", default=["auto", "chain:4"], help="of part explorer")
    args = parser.parse_args()
    record = opened(args.out)
    done = parts[args.part](args, record)
    args.out.write_text(done.model_dump_json(indent=1, exclude_defaults=True) + "\n")


def opened(path: Path) -> ServingRecord:
    """The record so far, or an empty one."""
    if path.exists():
        return ServingRecord.model_validate_json(path.read_bytes())
    return ServingRecord(
        made=datetime.date.today().isoformat(),
        machine=_machine(),
        engine="",
        model="",
        heads="",
        method="medusa",
        prompts=0,
        max_new_tokens=0,
        speculative=[],
        plain=[],
    )


def _machine() -> str:
    names = Path("/proc/cpuinfo")
    lines = names.read_text().splitlines() if names.exists() else []
    name = next((line.partition(": ")[2] for line in lines if "model name" in line), "")
    return f"{os.cpu_count()} cores of {name or platform.processor()}"


def load_both(args: argparse.Namespace, record: ServingRecord) -> ServingRecord:
    """Both servers at every level; which goes first changes with the level."""
    prompts = read_prompts(args.prompts, args.limit)
    found = {"speculative": list(record.speculative), "plain": list(record.plain)}
    with ServerClient(args.speculative) as ours, ServerClient(args.plain) as theirs:
        info = ours.info()
        clients = [("speculative", ours), ("plain", theirs)]
        for turn, level in enumerate(args.levels):
            for name, client in clients if turn % 2 else reversed(clients):
                load, _ = _run(client, prompts, level, max(level, len(prompts)), args)
                found[name] = [old for old in found[name] if old.concurrency != level] + [load]
                print(name, level, load.tokens_per_second, load.seconds, file=sys.stderr)
    return record.model_copy(
        update={
            "engine": info.engine or "",
            "model": info.models[0],
            "prompts": len(prompts),
            "max_new_tokens": args.max_new_tokens,
        }
        | {name: sorted(some, key=lambda one: one.concurrency) for name, some in found.items()}
    )


def _run(
    client: ServerClient,
    prompts: Sequence[Prompt],
    level: int,
    requests: int,
    args: argparse.Namespace,
) -> tuple[LoadFigures, list[Answer]]:
    model = client.info().models[0]
    load = Load(client, model, prompts, level, requests, args.max_new_tokens, token_ids=True)
    for _ in load.answers(threading.Event()):
        pass
    problems = [answer.problem for answer in load.done if answer.problem]
    if problems:
        raise SystemExit(problems[0])
    return load.figures(), load.done


def _kept(path: Path) -> Path:
    return path.with_suffix(".answers.json")


def count_answers(args: argparse.Namespace, record: ServingRecord) -> ServingRecord:
    """What the server accepts over all prompts, eight at a time."""
    prompts = read_prompts(args.prompts, args.limit)
    with ServerClient(args.speculative) as client:
        engine = client.info().engine or "server"
        figures, answers = _run(client, prompts, 8, len(prompts), args)
    if figures.speculation is None:
        raise SystemExit("The server says nothing about its drafts.")
    _kept(args.out).write_bytes(ANSWERS.dump_json(answers))
    row = EngineRow(engine=engine, shape=f"a chain of {DRAFTS}", speculation=figures.speculation)
    shown = min(answers, key=lambda answer: abs(answer.tokens - 64))
    return record.model_copy(update={"rows": _merged(record.rows, [row]), "answer": shown})


def count_chains(args: argparse.Namespace, record: ServingRecord) -> ServingRecord:
    """What this explorer accepts on the same prompts in the same chains."""
    lab = _lab(args)
    settings = decode_settings(
        method="medusa", tree=f"chain:{DRAFTS}", max_new_tokens=args.max_new_tokens
    )
    accepted: list[int] = []
    for asked in read_prompts(args.prompts, args.limit):
        steps = lab.steps(lab.encode(asked["prompt"], settings), settings)
        next(steps)  # the prompt's own pass
        accepted += [
            len(step.verdict.path) - 1
            for step in steps
            if isinstance(step, StepResult) and step.verdict
        ]
        print(asked["id"], len(accepted), file=sys.stderr)
    found = Speculation(
        steps=len(accepted),
        drafted=DRAFTS * len(accepted),
        accepted_at=[sum(n > depth for n in accepted) for depth in range(DRAFTS)],
    )
    engine = f"this explorer, {args.backend}"
    row = EngineRow(engine=engine, shape=f"chain:{DRAFTS}", speculation=found)
    return record.model_copy(update={"rows": _merged(record.rows, [row])})


def check_greedy(args: argparse.Namespace, record: ServingRecord) -> ServingRecord:
    """Where our model would not have written the server's token, and how far the engines differ."""
    from explorer.measuring.teacher_forcing import forced_logits, margins

    lab = _lab(args)
    answers = ANSWERS.validate_json(_kept(args.out).read_bytes())[: args.limit]
    behind: list[float] = []
    noise = 0.0
    for answer in answers:
        reply = [token for ids in answer.token_ids for token in ids]
        logits = forced_logits(lab.model, answer.prompt_ids, reply)
        behind += [margin for _, margin in margins(logits, reply)]
        logprobs = _logprobs(args.plain, answer.prompt_ids, reply)
        noise = max(noise, *_moved(logits, logprobs))
        print(answer.id, len(reply), len(behind), max(behind, default=0), noise, file=sys.stderr)
    greedy = GreedyCheck(
        texts=len(answers),
        tokens=sum(answer.tokens for answer in answers),
        margins=sorted((round(margin, 4) for margin in behind), reverse=True),
        noise=round(noise, 4),
    )
    return record.model_copy(update={"greedy": greedy})


def _logprobs(address: str, prompt: list[int], reply: list[int]) -> list[dict[int, float]]:
    """Log-probabilities that a server gives the likeliest tokens at each place of the reply."""
    body = {
        "model": httpx.get(f"{address}/v1/models").json()["data"][0]["id"],
        "prompt": prompt + reply,
        "max_tokens": 1,
        "temperature": 0,
        "prompt_logprobs": TOP,
    }
    got = httpx.post(f"{address}/v1/completions", json=body, timeout=300).raise_for_status().json()
    places = got["choices"][0]["prompt_logprobs"][len(prompt) :]
    return [{int(token): found["logprob"] for token, found in place.items()} for place in places]


def _moved(logits, logprobs: Iterable[dict[int, float]]) -> Iterator[float]:
    """How far the margin between two likely tokens moves from one engine to the other."""
    for row, place in zip(logits, logprobs, strict=True):
        (first, high), (second, low), *_ = sorted(place.items(), key=lambda pair: -pair[1])
        yield abs((high - low) - float(row[first] - row[second]))


def time_explorer(args: argparse.Namespace, record: ServingRecord) -> ServingRecord:
    """This explorer's races on the prompts, one row for each tree."""
    from explorer.serving.rows import explorer_row

    prompts, lab = read_prompts(args.prompts, args.limit), _lab(args)
    settings = {"method": "medusa", "max_new_tokens": args.max_new_tokens}
    lab.run_race(prompts[0]["prompt"], **settings)  # warm
    traces: dict[str, list] = {tree: [] for tree in args.trees}
    for asked in prompts:
        for tree, done in traces.items():
            done.append(lab.run_race(asked["prompt"], tree=tree, **settings))
    rows = [
        explorer_row(done, f"this explorer, {args.backend}", tree) for tree, done in traces.items()
    ]
    for row in rows:
        print(row.shape, row.tokens_per_second, row.plain_tokens_per_second, file=sys.stderr)
    heads = next(iter(lab.heads.values())).name
    return record.model_copy(update={"heads": heads, "rows": _merged(record.rows, rows)})


@cache
def _loaded(backend: str):
    import explorer

    return explorer.load(backend=backend)


def _lab(args: argparse.Namespace):
    return _loaded(args.backend)


def _merged(old: Iterable[EngineRow], new: Iterable[EngineRow]) -> list[EngineRow]:
    """Rows by engine and shape: the counts of the longer run, the times of whichever has any."""
    rows = {(row.engine, row.shape): row for row in old}
    for row in new:
        before = rows.get((row.engine, row.shape))
        if before is not None:
            more = max(before, row, key=lambda one: one.speculation.steps)
            timed = row if row.tokens_per_second else before
            row = timed.model_copy(update={"speculation": more.speculation})
        rows[row.engine, row.shape] = row
    return list(rows.values())


if __name__ == "__main__":
    main()
