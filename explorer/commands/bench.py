"""`bench`: the race over many prompts, what a step costs, and whether speculation pays."""

from __future__ import annotations

import argparse
from typing import Any

from explorer.commands.console import Console, number, table
from explorer.commands.options import (
    add_length_options,
    add_method_parameters,
    given_parameters,
    load_lab,
    method_list,
    settings_from,
)
from explorer.commands.prompts import add_prompts_options
from explorer.records.errors import ExplorerError
from explorer.records.methods import METHODS
from explorer.records.peak_memory import PeakMemory
from explorer.records.prompts import read_prompts

SHOWN_DEPTHS = 6
EXAMPLE = "python -m explorer bench --prompts assets/prompts.jsonl --limit 4 --reference --json"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this command only."""
    add_prompts_options(parser)
    parser.add_argument(
        "--methods",
        default="plain,medusa",
        metavar="M,M,…",
        help=f"methods to race: {', '.join(METHODS)}; plain is always included "
        "(default: plain,medusa)",
    )
    parser.add_argument(
        "--reference",
        action="store_true",
        help="also time transformers' generate() on the same weights, and llama.cpp's plain "
        "decoding of the same GGUF file (which 'make reference' installs)",
    )
    add_length_options(parser)
    add_method_parameters(parser)


def execute(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    """Race on every prompt."""
    prompts, settings = read_prompts(args.prompts, args.limit), settings_from(args)
    methods = method_list(args.methods)
    if not methods:
        raise ExplorerError("--methods names no method: try plain,medusa.")
    lab = load_lab(args, console)
    from explorer.measuring.bench import bench

    with console.share("bench") as progress:
        report = bench(
            lab,
            prompts,
            methods=methods,
            max_new_tokens=settings.max_new_tokens,
            tree=settings.tree,
            reference=args.reference,
            progress=progress,
            **given_parameters(args),
        )
    return report.model_dump(mode="json") | {"notes": list(lab.notes)}


def render(result: dict[str, Any]) -> str:
    """Tables of the methods, the categories, the step and C(n), and the verdict in words."""
    parts = [
        _methods(result),
        _details(result),
        _predictions(result),
        _categories(result),
        _overhead(result),
        _cost(result),
        _floor(result),
        _assisted(result),
    ]
    if result["speedup"] is not None:
        parts.append(
            f"speedup {number(result['speedup'])}× ± {number(result.get('half_width'))}, "
            f"geometric mean over {result['prompts']} prompts"
        )
    if peak := result.get("peak_memory"):
        parts.append(PeakMemory.model_validate(peak).sentence)
    parts.append(f"{result['identical_prompts']} of {result['prompts']} texts identical to plain")
    if result["plain_over_generate"] is not None:
        reference = result["reference"]
        parts.append(
            f"plain over transformers' generate(): {number(result['plain_over_generate'])}× "
            f"({number(reference['plain_tokens_per_second'], 1)} against "
            f"{number(reference['generate_tokens_per_second'], 1)} tokens/s)"
        )
    parts += [_llama_cpp(result), *result["unavailable"].values()]
    return "\n\n".join(part for part in [*parts, result["sentence"]] if part)


def _methods(result: dict[str, Any]) -> str:
    rows = [
        (
            name,
            number(figures["tokens_per_second"], 1),
            number(figures["tokens_per_step"]),
            number(figures["step_ms"], 1),
            number(figures["speedup"], unit="×"),
            *(_percent(figures["shares"], part) for part in ("heads", "verify", "outside")),
        )
        for name, figures in result["methods"].items()
    ]
    header = ("method", "tokens/s", "tokens/step", "ms/step", "speedup")
    return table((*header, "heads", "verify", "outside"), rows)


def _details(result: dict[str, Any]) -> str:
    """For each method: texts equal to plain's, memory, acceptance by depth."""
    if not result["details"]:
        return ""
    rows = []
    for name, details in result["details"].items():
        memory = details["memory"]
        rates = [number(depth["rate"]) for depth in details["acceptance"][:SHOWN_DEPTHS]]
        rows.append(
            (
                name,
                f"{details['identical_prompts']} of {result['prompts']}",
                f"{memory['megabytes']:.1f} MB ({100 * memory['share']:.1f} %)",
                " ".join(rates) or "–",
            )
        )
    header = ("method", "as plain", "extra memory", "acceptance by depth")
    return table(header, rows)


def _predictions(result: dict[str, Any]) -> str:
    """The speedup by the formulas from the run's own α, K, n and times, and the measured one."""
    found = {name: d["prediction"] for name, d in result["details"].items() if d["prediction"]}
    if not found:
        return ""
    rows = [
        (
            name,
            number(p["alpha"]),
            number(p["drafted"], 1),
            number(p["rows"], 1),
            number(p["cost"]),
            number(p["tokens_per_step"]),
            number(p["product"]),
            number(p["measured_tokens_per_step"]),
            f"{number(p['speedup_idealised'])}× ({100 * p['error_idealised']:+.0f} %)",
            f"{number(p['speedup_at_cost'])}× ({100 * p['error_at_cost']:+.0f} %)",
            number(p["measured_speedup"], unit="×"),
            *("yes" if p[f"pays_{form}"] else "no" for form in ("as_published", "corrected")),
        )
        for name, p in found.items()
    ]
    header = (
        "formulas",
        "α",
        "K",
        "n",
        "C(n)",
        "E or τ",
        "τ of products",
        "measured",
        "S (error)",
        "S′ (error)",
        "measured",
        "m·T₁ pays",
        "(m+1)·T₁ pays",
    )
    return table(header, rows)


def _assisted(result: dict[str, Any]) -> str:
    """This product's speed over that of transformers' draft-model and prompt-lookup decoding."""
    return "\n".join(
        f"{name} over transformers' own: {number(found['ours_over_generate'])}× "
        f"({number(found['ours_tokens_per_second'], 1)} against "
        f"{number(found['generate_tokens_per_second'], 1)} tokens/s, "
        f"{found['identical_prompts']} of {found['prompts']} texts the same)"
        for name, found in result["assisted_reference"].items()
    )


def _llama_cpp(result: dict[str, Any]) -> str:
    """llama.cpp's plain decoding, this product's, and its fastest method, on the same file."""
    found = result["llama_cpp"]
    if found is None:
        return ""
    plain, best = found["plain_tokens_per_second"], found["best_tokens_per_second"]
    rows = [("llama.cpp, plain", number(found["tokens_per_second"], 1), "1.00×")]
    rows.append(("plain", number(plain, 1), number(found["plain_over_llama_cpp"], unit="×")))
    if found["best_method"]:
        ratio = number(found["best_over_llama_cpp"], unit="×")
        rows.append((found["best_method"], number(best, 1), ratio))
    same = "the same prompt tokens" if found["same_prompt_tokens"] else "OTHER prompt tokens"
    return (
        table(("same file", "tokens/s", "over llama.cpp"), rows)
        + f"\n{found['version']}, threads: {found['threads']}, {same}; "
        f"{found['identical_prompts']} of {found['prompts']} texts the same as plain; while the "
        f"other side decoded, it used {_percent(found, 'idle_cpu')} of a core and we "
        f"{_percent(found, 'our_idle_cpu')}"
    )


def _categories(result: dict[str, Any]) -> str:
    if not result["per_category"]:
        return ""
    rows = [
        (name, str(c["prompts"]), number(c["speedup"], unit="×"), number(c["tokens_per_step"]))
        for name, c in result["per_category"].items()
    ]
    return table(("category", "prompts", "speedup", "tokens/step"), rows)


def _overhead(result: dict[str, Any]) -> str:
    """Shares of a step's time; what recording adds to a step, and what its record takes later."""
    if not result["overhead"]:
        return ""
    parts = ("heads", "draft", "verify", "accept", "commit", "outside")
    rows = [
        (
            f"{entry['tree']} (n = {entry['n']})",
            number(entry["step_ms"], 1),
            *(_percent(entry["shares"], part) for part in parts),
            "–" if entry["recording"] is None else f"{100 * entry['recording']:+.1f} %",
            number(entry["writing_ms"], 2),
        )
        for entry in result["overhead"]
    ]
    return table(("tree", "ms/step", *parts, "recording", "records, later (ms)"), rows)


def _cost(result: dict[str, Any]) -> str:
    curve = result["cost_curve"]
    if curve is None:
        return ""
    header = ("rows", *map(str, curve["rows"]))
    return table(header, [("C(n)", *(number(ratio) for ratio in curve["ratios"]))])


def _floor(result: dict[str, Any]) -> str:
    """The bytes that a step reads, the shortest time for that, and the time that it took."""
    floor = result["floor"]
    if floor is None:
        return ""
    plain = floor | {"step_ms": floor["plain_step_ms"]}
    rows = [
        (
            name,
            number(found["bytes"] / 1e6, 1),
            number(found["floor_ms"]),
            number(found["step_ms"]),
            number(found["step_over_floor"], unit="×"),
        )
        for name, found in {"plain": plain, **floor["methods"]}.items()
    ]
    header = ("floor", "MB/step", "floor ms", "ms/step", "over floor")
    return f"{table(header, rows)}\n{floor['sentence']}"


def _percent(shares: dict[str, float] | None, part: str) -> str:
    return "–" if shares is None or shares[part] is None else f"{100 * shares[part]:.1f} %"
