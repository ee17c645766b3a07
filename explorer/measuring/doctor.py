"""The doctor: races the heads on some prompts, and says why they are not faster.

What is measured here is little: races with their plain lane, one cost curve, and, where a setting
other than the heads could be to blame, the first prompts once more without it. All that follows
from it is arithmetic (analysis/ledger.py, analysis/head_report.py, analysis/diagnosis.py).
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from explorer.analysis.checkup import Checkup
from explorer.analysis.diagnosis import diagnose
from explorer.analysis.diagnosis_case import Case, Probe
from explorer.analysis.head_report import accuracy_report
from explorer.analysis.joint_counts import ranked_text
from explorer.analysis.ledger import ledger
from explorer.analysis.step_times import overhead_of, plain_rate, step_shares
from explorer.decoding.dynamic import DynamicTree
from explorer.measuring.cost_curve import measure_cost_curve
from explorer.measuring.head_set import HeadSet
from explorer.measuring.parameters import base_parameters, parameters_of
from explorer.records.errors import ExplorerError
from explorer.records.events import finished
from explorer.records.head_facts import HeadFacts
from explorer.records.progress import Progress, quiet
from explorer.records.prompts import Prompt
from explorer.records.rank_paths import RankPath
from explorer.records.schema import Trace
from explorer.records.settings import DecodeSettings

if TYPE_CHECKING:
    from explorer.heads.heads import MedusaHeads
    from explorer.measuring.lab_protocol import LabProtocol
    from explorer.models.base import LanguageModel

CONTEXT, WIDTHS, ROUNDS = 128, (2, 3, 4, 6, 8, 12, 16, 24, 32, 64), 3
PROBED = 3  # prompts that are run once more with a setting changed


def examine(
    lab: LabProtocol,
    prompts: Sequence[Prompt],
    settings: DecodeSettings,
    progress: Progress | None = None,
    cancel: threading.Event | None = None,
) -> Checkup:
    """Race the settings' method on the prompts and diagnose it.

    Raises ExplorerError without heads, and where the replies are too short to measure.
    """
    say, chosen = progress or quiet, lab.heads_for(settings)
    if chosen is None:
        raise ExplorerError("The doctor examines heads: load some, and choose a method with heads.")
    traces = _races(lab, prompts, settings, say, cancel)
    say("measuring what rows cost", 0.8)
    context = max(1, min(CONTEXT, lab.model.context_length - WIDTHS[-1]))
    curve = measure_cost_curve(lab.model, WIDTHS, context, ROUNDS)
    say("looking for causes", 0.9)
    kinds = [prompt["category"] for prompt, _ in traces]
    runs = [trace for _, trace in traces]
    found, accuracy = ledger(runs), accuracy_report(runs, kinds)
    if found is None or accuracy is None:
        raise ExplorerError(
            "The replies are too short to measure: give more prompts, or more new tokens."
        )
    case = Case(
        heads=head_facts(lab.model, chosen.heads, chosen.name),
        ledger=found,
        accuracy=accuracy,
        texts=[ranked_text(trace) for trace in runs],
        curve=curve,
        overhead=overhead_of(runs),
        tree=_fixed_tree(runs, settings.tree),
        probes=_probes(lab, traces, settings, say),
        identical=sum(map(_identical, runs)),
        prompts=len(runs),
        bit_exact=lab.model.bit_exact,
        shares=step_shares(runs),
    )
    return _checkup(lab, settings, case, runs).model_copy(update={"trust": _trust(chosen)})


def _trust(chosen: HeadSet) -> float | None:
    """The trust in these heads that `auto` uses; None where it takes no regard of their promise."""
    trees = chosen.auto_trees.values()
    return next((tree.trust for tree in trees if isinstance(tree, DynamicTree)), None)


def _races(
    lab: LabProtocol,
    prompts: Sequence[Prompt],
    settings: DecodeSettings,
    say: Progress,
    cancel: threading.Event | None,
) -> list[tuple[Prompt, Trace]]:
    """A race with plain decoding on every prompt; cancelled, those that were finished."""
    traces = []
    for number, prompt in enumerate(prompts):
        say(f"prompt {number + 1} of {len(prompts)}", 0.8 * number / len(prompts))
        trace = finished(lab.race(prompt["prompt"], settings, cancel=cancel), cancel)
        if trace is None:
            break
        traces.append((prompt, trace))
    return traces


def _probes(
    lab: LabProtocol,
    traces: Sequence[tuple[Prompt, Trace]],
    settings: DecodeSettings,
    say: Progress,
) -> list[Probe]:
    """The first prompts again: greedily, and in the chat template, where they were not."""
    changes: list[tuple[str, object, str]] = []
    if settings.temperature > 0:
        changes.append(("temperature", 0.0, "greedy decoding"))
    if settings.raw_prompt and getattr(lab.model.tokenizer, "chat_template", None):
        changes.append(("raw_prompt", False, "the chat template"))
    probes, first = [], traces[:PROBED]
    for name, value, words in changes:
        say(f"once more with {words}", 0.95)
        given = {name: value} | ({"acceptance": "auto"} if name == "temperature" else {})
        other = settings.model_copy(update=given)
        runs = [finished(lab.decode(prompt["prompt"], other), None) for prompt, _ in first]
        asked = _tokens_per_step([trace for _, trace in first])
        probes.append(Probe(name, words, asked, _tokens_per_step(filter(None, runs))))
    return probes


def _tokens_per_step(traces) -> float:
    traces = list(traces)
    steps = sum(len(trace.steps) for trace in traces)
    return sum(len(trace.new_token_ids) for trace in traces) / steps if steps else 1.0


def _identical(trace: Trace) -> bool:
    """Whether a greedy run wrote what its plain lane wrote; sampled runs are not compared."""
    if trace.header.settings.temperature > 0:
        return True
    plain = trace.rival.new_token_ids if trace.rival else []
    both = min(len(plain), len(trace.new_token_ids))
    return plain[:both] == trace.new_token_ids[:both]


def _fixed_tree(traces: Sequence[Trace], name: str) -> list[RankPath] | None:
    """The tree of every step, where it does not change; near the end it is cut to what is left."""
    if name in ("auto", "fixed") or name.startswith("dynamic"):
        return None
    shapes = [tree.paths for trace in traces for tree in trace.trees]
    return [tuple(path) for path in max(shapes, key=len)]


def _checkup(
    lab: LabProtocol, settings: DecodeSettings, case: Case, traces: Sequence[Trace]
) -> Checkup:
    rate = plain_rate(traces)
    kept = ("tree", "temperature", "top_p", "top_k", "raw_prompt", "max_new_tokens", "acceptance")
    return Checkup(
        model=lab.model.name,
        backend=lab.model.backend,
        device=lab.model.device.type,
        method=settings.method,
        settings={name: getattr(settings, name) for name in kept},
        prompts=case.prompts,
        identical=case.identical,
        bit_exact=case.bit_exact,
        plain_tokens_per_second=rate,
        tokens_per_second=rate * case.ledger.measured,
        heads=case.heads,
        accuracy=case.accuracy,
        ledger=case.ledger,
        cost_curve=case.curve,
        findings=diagnose(case),
    )


def head_facts(model: LanguageModel, heads: MedusaHeads, name: str) -> HeadFacts:
    """What these heads are, with their base model."""
    config, origin = heads.config, heads.origin
    training = config.training
    return HeadFacts(
        name=name,
        format=origin.title if origin else "made in this process",
        differences=origin.differences if origin else [],
        architecture=config.architecture,
        kind=config.kind,
        num_heads=config.num_heads,
        num_blocks=config.num_blocks,
        parameters=parameters_of(heads),
        bytes=heads.step_bytes(),
        projection_bytes=heads.projection_bytes(),
        base_name=model.name,
        base_backend=model.backend,
        base_parameters=base_parameters(model),
        base_bytes=model.step_bytes(0),
        trained_for=config.base_model,
        trained_on=str(config.accuracy.get("text", "")),
        trained_backend=str(training.get("backend", "")),
        published={
            top: [float(value) for value in values]
            for top, values in config.accuracy.items()
            if isinstance(values, list) and all(isinstance(v, int | float) for v in values)
        },
    )
