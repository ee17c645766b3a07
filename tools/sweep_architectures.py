"""Tries every causal model type of the installed transformers, tiny and random.

Each network is built twice with the same weights. One goes through the product's loading and
start-up check; where that accepts it, its tree passes are compared with teacher-forced passes of
the other, which nothing has touched: every node of a tree with siblings, a commit of rows that do
not lie side by side, and a pass after it, with prefixes of 20 and 300 tokens.

    python -m tools.sweep_architectures                      # all types, a table on stdout
    python -m tools.sweep_architectures --write docs/models.md
    python -m tools.sweep_architectures llama mpt            # these; --write: their rows

Exit status 1 where an accepted type is wrong, or one ends in a bare error.
"""

from __future__ import annotations

import argparse
import logging
import re
import sys
import time
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import torch
import transformers
from transformers import PretrainedConfig
from transformers.models.auto.configuration_auto import CONFIG_MAPPING
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

from explorer.measuring.probe import Probe, difference, our_logits, own_logits
from explorer.measuring.selfcheck import SAME_MEANING, check_model, wrapped
from explorer.models.architecture import refuse_unsupported
from explorer.models.miniature import miniature, tiny_network
from explorer.records.errors import ExplorerError

PREFIXES = 20, 300
# What a class leaves empty by default, and no real checkpoint does.
FILLED = {
    "cohere_compass_text": {
        "rope_parameters": {
            kind: {"rope_type": "default", "rope_theta": 1e4}
            for kind in ("full_attention", "sliding_attention")
        }
    },
    "dbrx": {
        "d_model": 64,
        "n_layers": 3,
        "attn_config": {"kv_n_heads": 2, "rope_theta": 1e4, "clip_qkv": 8.0},
        "ffn_config": {"ffn_hidden_size": 64, "moe_num_experts": 4, "moe_top_k": 2},
    },
    "deepseek_v2": {"num_experts_per_tok": 2, "topk_method": "greedy"},
    "dots1": {"n_routed_experts": 4, "num_experts_per_tok": 2, "n_shared_experts": 1},
    "hunyuan_v1_dense": {"head_dim": 128},
    "hunyuan_v1_moe": {"head_dim": 128},
    "lfm2_moe": {"layer_types": ["conv", "full_attention"] * 16},
    "ministral": {"head_dim": 128},
    "nemotron": {"num_key_value_heads": 8},
    "reformer": {"axial_pos_embds": False, "hidden_size": 64, "attention_head_size": 16},
    "xmod": {"default_language": "en_XX"},
}
# Types that no tiny network is made of, and why.
UNBUILT = {
    "blt": "it reads bytes in patches, with three networks of their own depth",
    "dory": "it writes its layers down in another number than it has",
    "gemma4_assistant": "a draft model that runs on the cache of its Gemma 4 alone",
    "musicgen": "it writes audio codes, no text",
    "musicgen_melody": "it writes audio codes, no text",
}
MARKER = "<!-- the sweep's table: tools/sweep_architectures.py -->"


@dataclass(frozen=True)
class Finding:
    """What became of one model type. `verdict`: right, refused, WRONG, ERROR or not built."""

    model_type: str
    verdict: str
    detail: str
    seconds: float


def sweep(model_types: Iterable[str]) -> list[Finding]:
    """Try these model types, one after the other."""
    return [try_type(model_type) for model_type in model_types]


def causal_types() -> list[str]:
    """Every model type with a causal language model."""
    return sorted(MODEL_FOR_CAUSAL_LM_MAPPING_NAMES)


def try_type(model_type: str) -> Finding:
    """Build one model type twice, load one of them as the product does, and compare."""
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        verdict, detail = _tried(model_type)
    return Finding(model_type, verdict, detail, time.perf_counter() - start)


def default_config(model_type: str) -> PretrainedConfig:
    """The configuration that a checkpoint of this type would have, as far as its class says."""
    config = CONFIG_MAPPING[model_type](**FILLED.get(model_type, {}))
    if hasattr(config, "is_decoder"):
        config.is_decoder = True
    return config


def _tried(model_type: str) -> tuple[str, str]:
    if model_type in UNBUILT:
        return "not built", UNBUILT[model_type]
    try:
        config = default_config(model_type)
        refuse_unsupported(config, model_type)
        small = miniature(config)
        network, untouched = tiny_network(small), tiny_network(small)
        with torch.inference_mode():
            untouched(input_ids=torch.arange(3, 30)[None])
    except ExplorerError as error:
        return "refused", str(error)
    except Exception as error:
        return "not built", f"{type(error).__name__}: {str(error).splitlines()[0][:120]}"
    try:
        model = wrapped(network, model_type)
        check_model(model)
    except ExplorerError as error:
        return "refused", str(error)
    except Exception as error:
        return "ERROR", f"{type(error).__name__}: {str(error)[:200]}"
    if model.config._attn_implementation == "eager":
        untouched.set_attn_implementation("eager")  # the only one that knows all of its attention
    worst = max(_worst(model, untouched, length) for length in PREFIXES)
    if not worst <= SAME_MEANING["fp32"]:
        return "WRONG", f"logits differ by {worst:.1%} of their spread"
    return "right", "fixed order" if model.fixed_order else model.config._attn_implementation


def _worst(model, untouched, length: int) -> float:
    probe = Probe.of(model, length)
    return difference(our_logits(model, probe), own_logits(untouched, probe)).max().item()


def table(findings: list[Finding]) -> str:
    """The findings in Markdown."""
    right = [f for f in findings if f.verdict == "right"]
    lines = [
        f"{len(findings)} causal model types of transformers {transformers.__version__}: "
        f"{len(right)} right, {sum(f.verdict == 'refused' for f in findings)} refused, "
        f"{sum(f.verdict == 'not built' for f in findings)} that could not be built tiny, "
        f"{sum(f.verdict in ('WRONG', 'ERROR') for f in findings)} wrong.",
        "",
        "| model type | verdict | attention, or why not |",
        "| --- | --- | --- |",
    ]
    lines += [f"| {f.model_type} | {f.verdict} | {_cell(f.detail)} |" for f in findings]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def write(path: Path, findings: list[Finding]) -> None:
    """Put the table after the marker of a page; types that were not tried keep their rows."""
    before, _, old = path.read_text(encoding="utf-8").partition(MARKER)
    rows = re.findall(r"^\| ([\w-]+) \| ([\w ]+) \| (.*) \|$", old, flags=re.M)
    known = {
        name: Finding(name, verdict, text.replace("\\|", "|"), 0) for name, verdict, text in rows
    }
    known |= {found.model_type: found for found in findings}
    findings = [known[name] for name in sorted(known)]
    path.write_text(f"{before}{MARKER}\n\n{table(findings)}", encoding="utf-8")


def main() -> int:
    """Run the sweep. Returns the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("model_types", nargs="*", help="these types alone")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="put the table into this page")
    args = parser.parse_args()
    logging.disable(logging.WARNING)
    torch.set_num_threads(1)  # the networks are tiny
    findings = []
    for model_type in args.model_types or causal_types():
        findings.append(try_type(model_type))
        f = findings[-1]
        print(f"{model_type}: {f.verdict} ({f.detail}), {f.seconds:.1f} s", file=sys.stderr)
    print(table(findings))
    if args.write:
        write(args.write, findings)
    return int(any(f.verdict in ("WRONG", "ERROR") for f in findings))


if __name__ == "__main__":
    sys.exit(main())
