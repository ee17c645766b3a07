"""serve.sh: the commands that start vLLM on an exported folder."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass

VERSION = "0.32.0"  # of vLLM, which the exported files and these options were run with
SCRIPT = """\
#!/bin/sh
# Serves {title} on vLLM {version}: sh serve.sh [medusa|{others}plain] [more options of vLLM]
# PYTHON is the Python that has vLLM, TENSOR_PARALLEL the number of GPUs that share the model, HOST
# and PORT where it listens.
set -eu
cd "$(dirname "$0")"
python=${{PYTHON:-python3}}
how=${{1:-medusa}}
[ $# -eq 0 ] || shift
case $how in
  medusa) set -- --speculative-config {medusa} --per-request-spec-decode-metrics detailed "$@" ;;
{draft}  plain) ;;
  *) echo "serve.sh: '$how' is none of medusa, {others_said}plain" >&2; exit 2 ;;
esac
# vLLM for a CPU: without Intel's OpenMP loaded first, its speculative decoding is slow.
openmp=$("$python" -c 'import sys; print(sys.prefix)')/lib/libiomp5.so
if [ -f "$openmp" ]; then
  export LD_PRELOAD="$openmp${{LD_PRELOAD:+:$LD_PRELOAD}}"
  set -- --enforce-eager "$@"
fi
exec "$python" -m vllm.entrypoints.openai.api_server --model {model} --served-model-name {name} \\
  --dtype {dtype} --tensor-parallel-size "${{TENSOR_PARALLEL:-{tensor_parallel}}}" \\
  --host "${{HOST:-127.0.0.1}}" --port "${{PORT:-8000}}" "$@"
"""


@dataclass(frozen=True)
class Served:
    """What the script serves; model, heads and draft are Hub ids or paths, seen from the script."""

    model: str
    name: str
    heads: str
    num_heads: int
    draft: str | None
    draft_tokens: int
    dtype: str
    tensor_parallel: int


def serve_script(served: Served) -> str:
    """The text of serve.sh. Its speculative decoding is Medusa, a draft model, or none."""
    medusa = _config("medusa", served.heads, served.num_heads)
    draft, others = "", ""
    if served.draft is not None:
        others = "draft-model|"
        config = _config("draft_model", served.draft, served.draft_tokens)
        draft = (
            f"  draft-model) set -- --speculative-config {config} "
            '--per-request-spec-decode-metrics detailed "$@" ;;\n'
        )
    return SCRIPT.format(
        title=served.name,
        version=VERSION,
        others=others,
        others_said=others.replace("|", ", "),
        medusa=medusa,
        draft=draft,
        model=shlex.quote(served.model),
        name=shlex.quote(served.name),
        dtype=served.dtype,
        tensor_parallel=served.tensor_parallel,
    )


def _config(method: str, model: str, tokens: int) -> str:
    """vLLM's --speculative-config as one word of a shell. As many tokens as there are heads."""
    return shlex.quote(
        json.dumps({"method": method, "model": model, "num_speculative_tokens": tokens})
    )
