"""Names of tensors in the public formats of Medusa heads, and which format they are of.

A format is known by its tensors, never by a file's name or by what a config.json says:

    medusa    {k}.{b}.linear.weight, {k}.{b}.linear.bias, {k}.{B}.weight (FasterDecoding/Medusa)
    tgi       the same without projections: the heads share the LM head
    whole     medusa_head.{k}… among the weights of a whole model (Medusa 1.0)
    vllm      blocks.{k}.layers.{b}.weight, lm_heads.{k}.weight or one lm_heads.0.weight, token_map
    modelopt  medusa_heads.{k}.{b}.linear.weight, medusa_heads.{k}.{B}.weight
    hydra     hydra_mlp.{k}.{b}.linear.weight, hydra_mlp.{k}.0.res_connection.weight,
              hydra_lm_head.{k}.weight, each with its bias (public_hydra.py)

with k the head, b the residual block and B the number of blocks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from torch import Tensor

PublicFormat = Literal["medusa", "tgi", "whole", "vllm", "modelopt"]
FORMAT_TITLES: dict[str, str] = {
    "medusa": "the heads of FasterDecoding/Medusa",
    "tgi": "heads that share the LM head, as text-generation-inference has them",
    "whole": "heads among the weights of a whole model (Medusa 1.0)",
    "vllm": "the heads of vLLM",
    "modelopt": "the heads of ModelOpt",
    "hydra": "Hydra heads as their authors write them",
}
IN_MODEL = ("medusa_head.", "medusa_heads.")  # how heads are named among a model's weights
TOKEN_MAP = "token_map"
_PREFIX = r"^(medusa_heads?\.)?"
_BLOCK = re.compile(_PREFIX + r"(?:(\d+)\.(?:medusa_layers\.)?(\d+)\.linear)\.(weight|bias)$")
_PROJECTION = re.compile(_PREFIX + r"(\d+)\.(\d+|lm_head)\.weight$")
_VLLM_BLOCK = re.compile(r"^(?:medusa_heads\.)?blocks\.(\d+)\.layers\.(\d+)\.(weight|bias)$")
_VLLM_PROJECTION = re.compile(r"^(?:medusa_heads\.)?(?:lm_heads\.(\d+)|lm_head)\.weight$")


@dataclass(frozen=True)
class Origin:
    """`format`: "explorer", or one of FORMAT_TITLES; `differences` are sentences."""

    format: str
    differences: list[str]

    @property
    def title(self) -> str:
        """The format, in words."""
        return FORMAT_TITLES.get(self.format, "the product's own format")


@dataclass
class NamedHeads:
    """The tensors of public heads by what they are: blocks by (head, block, "weight" or "bias").

    `after` are the places of projections among their heads' layers, which is how many blocks stand
    before them, where the names say it. `stored` are the names in the file, for errors.
    """

    format: PublicFormat
    blocks: dict[tuple[int, int, str], Tensor] = field(default_factory=dict)
    projections: dict[int, Tensor] = field(default_factory=dict)
    after: set[int] = field(default_factory=set)
    token_map: Tensor | None = None
    stored: dict[str, Tensor] = field(default_factory=dict)


def are_heads(name: str) -> bool:
    """Whether a tensor of that name belongs to heads in a file that holds nothing else."""
    return any(p.match(name) for p in (_BLOCK, _PROJECTION, _VLLM_BLOCK)) or name.startswith(
        ("lm_heads.", TOKEN_MAP)
    )


def named_heads(tensors: dict[str, Tensor]) -> NamedHeads | None:
    """Sort tensors by their names; None where no name is one of heads."""
    found = NamedHeads(_format(tensors))
    read = _read_vllm if found.format == "vllm" else _read_medusa
    for name, tensor in tensors.items():
        if read(found, name, tensor):
            found.stored[name] = tensor
    return found if found.stored else None


def _format(names: Iterable[str]) -> PublicFormat:
    names = list(names)
    if any(map(_VLLM_BLOCK.match, names)) or any(name.startswith("lm_heads.") for name in names):
        return "vllm"
    prefixes = {match[1] for name in names if (match := _BLOCK.match(name))}
    prefixes |= {match[1] for name in names if (match := _PROJECTION.match(name))}
    if "medusa_heads." in prefixes:
        return "modelopt"
    if "medusa_head." in prefixes:
        return "whole"
    return "medusa" if any(map(_PROJECTION.match, names)) else "tgi"


def _read_medusa(found: NamedHeads, name: str, tensor: Tensor) -> bool:
    if match := _BLOCK.match(name):
        found.blocks[int(match[2]), int(match[3]), match[4]] = tensor
    elif match := _PROJECTION.match(name):
        found.projections[int(match[2])] = tensor
        found.after |= {int(match[3])} if match[3] != "lm_head" else set()
    return match is not None


def _read_vllm(found: NamedHeads, name: str, tensor: Tensor) -> bool:
    if match := _VLLM_BLOCK.match(name):
        found.blocks[int(match[1]), int(match[2]), match[3]] = tensor
    elif match := _VLLM_PROJECTION.match(name):
        found.projections[int(match[1] or 0)] = tensor
    elif name.removeprefix("medusa_heads.") == TOKEN_MAP:
        found.token_map = tensor
        return True
    return match is not None
