"""A LoRA adapter on a base model (Medusa-2): a small change W + up·down of a linear layer's weight.

A folder in peft's format (`adapter_model.safetensors`, `adapter_config.json`), with a `config.json`
that says what the change costs (AdapterConfig). How it is applied depends on the layer:

- one that is not quantised (bf16, fp32): merged, W + up·down replaces W;
- one of the int4 backend, if the adapter was trained with the 4-bit rounding in the loop: merged
  and quantised again, which gives exactly the trained weights, at the speed of the untouched model;
- any other packed layer: unmerged, beside the packed weight. Rounding W + up·down to 4 bits would
  lose most of a change that is smaller than a rounding step.

The files of the base model are never written.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from pydantic import BaseModel as Schema
from pydantic import ConfigDict, Field, ValidationError
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from explorer.kernels.linears import (
    codes_of_blocks,
    dense_linear,
    dense_weight,
    four_bit_blocks,
    is_linear,
)
from explorer.kernels.packed import PACKED, packed_linear
from explorer.models.base import LanguageModel
from explorer.records.errors import ExplorerError
from explorer.weights.folders import CONFIG

ADAPTER_WEIGHTS, ADAPTER_CONFIG = "adapter_model.safetensors", "adapter_config.json"
NO_ADAPTER = "none"
SUBFOLDER = "adapter"  # beside the heads that were trained with it
PREFIX = "base_model.model."  # peft's, before the module's own name
NOT_PLAIN = ("use_dora", "use_rslora", "rank_pattern", "alpha_pattern")
FIXED_ROWS = (
    16  # with a fixed number of rows, a row's product has the same bits with any other rows
)


class AdapterConfig(Schema):
    """What `config.json` of an adapter says beyond peft's own fields."""

    model_config = ConfigDict(extra="ignore")

    base_model: str = ""
    lossless: str = ""
    four_bit_rounding: bool = False
    perplexity: dict[str, float] = Field(default_factory=dict)
    training: dict[str, Any] = Field(default_factory=dict)


@dataclass(frozen=True)
class Adapter:
    """layers: down [r, K] and up [N, r] float32 by the layer's name, peft's scaling within `up`."""

    config: AdapterConfig
    layers: dict[str, tuple[Tensor, Tensor]]
    mark: str  # of these very weights


def lossless_sentence(base_name: str) -> str:
    """What a tuned model's output is lossless with respect to."""
    return f"lossless with respect to the tuned model, not to {base_name or 'the original'}"


def adapter_folder(chosen: str | None, heads: Sequence[str]) -> Path | None:
    """The adapter to apply: the chosen one, or the one in the folder of the given heads."""
    if chosen is not None:
        return None if chosen.lower() == NO_ADAPTER else Path(chosen)
    beside = (Path(source).expanduser() / SUBFOLDER for source in heads)
    return next((folder for folder in beside if (folder / ADAPTER_CONFIG).is_file()), None)


def serve_adapter(model: LanguageModel, folder: str | Path) -> AdapterConfig:
    """Make `model` the tuned model; its name and its notes then say so.

    Raises ExplorerError: no adapter there, an unsupported kind, or one made for another base
    model. The model is then unchanged.
    """
    adapter = read_adapter(folder)
    for name, (down, up) in adapter.layers.items():
        _require_fit(model, name, down, up, folder)
    ways = set()
    for name, (down, up) in adapter.layers.items():
        layer = model.network.get_submodule(name)
        tuned, way = tuned_layer(layer, down, up, adapter.config.four_bit_rounding)
        model.network.set_submodule(name, tuned)
        ways.add(way)
    model.tuned = lossless_sentence(model.name)
    served = " and ".join(sorted(ways))
    model.notes.append(f"Tuned by the adapter {Path(folder).name} ({served}): {model.tuned}.")
    model.name = f"{model.name}, tuned ({adapter.mark})"
    return adapter.config


def read_adapter(folder: str | Path) -> Adapter:
    """The LoRA adapter in a local folder. Raises ExplorerError."""
    folder = Path(folder).expanduser()
    try:
        peft = json.loads((folder / ADAPTER_CONFIG).read_text(encoding="utf-8"))
        own = folder / CONFIG
        config = AdapterConfig.model_validate_json(own.read_bytes() if own.is_file() else "{}")
        tensors = load_file(folder / ADAPTER_WEIGHTS)
        mark = hashlib.sha256((folder / ADAPTER_WEIGHTS).read_bytes()).hexdigest()[:8]
    except FileNotFoundError as error:
        raise ExplorerError(
            f"There is no adapter in {folder} ({Path(error.filename or '').name} is missing): name "
            "a folder that 'train joint' or peft wrote."
        ) from None
    except (OSError, ValueError, RecursionError, SafetensorError, ValidationError) as error:
        raise ExplorerError(
            f"The adapter in {folder} cannot be read ({type(error).__name__}): train or download "
            "it again."
        ) from error
    return Adapter(config, _layers(tensors, peft, folder), mark)


def _layers(
    tensors: dict[str, Tensor], peft: Any, folder: Path
) -> dict[str, tuple[Tensor, Tensor]]:
    suffix = ".lora_A.weight"
    names = {key.removesuffix(suffix) for key in tensors if key.endswith(suffix)}
    wanted = {f"{name}.lora_{part}.weight" for name in names for part in "AB"}
    if not (names and wanted == set(tensors) and _is_plain(peft)):
        raise ExplorerError(
            f"The adapter in {folder} is not a plain LoRA of linear layers: only those are served."
        )
    layers = {}
    for name in sorted(names):
        down, up = (tensors[f"{name}.lora_{part}.weight"].float() for part in "AB")
        if not (down.isfinite().all() and up.isfinite().all()):
            raise ExplorerError(
                f"The adapter in {folder} holds values that are not numbers: train it again with a "
                "lower learning rate."
            )
        layers[name.removeprefix(PREFIX)] = (down, up * (peft["lora_alpha"] / peft["r"]))
    return layers


def _is_plain(peft: Any) -> bool:
    """Whether peft's configuration is a plain LoRA without extensions."""
    if not isinstance(peft, dict) or any(peft.get(field) for field in NOT_PLAIN):
        return False
    numbers = all(isinstance(peft.get(field), int | float) for field in ("r", "lora_alpha"))
    return peft.get("peft_type") == "LORA" and numbers and peft["r"] > 0


def _require_fit(
    model: LanguageModel, name: str, down: Tensor, up: Tensor, folder: str | Path
) -> None:
    try:
        layer = model.network.get_submodule(name)
    except AttributeError:
        layer = None
    output = model.network.get_output_embeddings()
    if layer is None or layer is output or not is_linear(layer):
        fits = False
    else:
        fits = (up.shape[0], down.shape[1]) == (layer.out_features, layer.in_features)
    if not fits:
        raise ExplorerError(
            f"The adapter in {folder} does not fit {model.name} ({name}): choose one that was "
            "trained for this base model."
        )


def tuned_layer(layer: nn.Module, down: Tensor, up: Tensor, rounded: bool) -> tuple[nn.Module, str]:
    """The layer with its change, and how it was applied; see the top of this file.

    `rounded` says whether the change was trained with the 4-bit rounding in the loop.
    """
    packed = isinstance(layer, PACKED)
    if (packed and not rounded) or not (packed or layer.weight.is_floating_point()):
        return UnmergedLinear(layer, down, up), "unmerged"
    weight = dense_weight(layer)
    weight = weight + (up @ down).to(weight.device)
    if not packed:
        return dense_linear(weight.to(layer.weight.dtype), layer.bias), "merged"
    codes = codes_of_blocks(four_bit_blocks(weight))
    tuned = packed_linear(codes, layer.bias, weight.device)
    return tuned, "merged and quantised again"


class UnmergedLinear(nn.Module):
    """x [..., K] → x Wᵀ + (x downᵀ) upᵀ: a packed layer with its change beside it."""

    def __init__(self, layer: nn.Module, down: Tensor, up: Tensor) -> None:
        super().__init__()
        self.layer = layer
        self.in_features, self.out_features = layer.in_features, layer.out_features
        device = next(iter(layer.state_dict().values())).device
        self.register_buffer("down", down.to(device, torch.bfloat16))
        self.register_buffer("up", up.to(device, torch.bfloat16))

    def forward(self, x: Tensor) -> Tensor:
        """[..., K] → [..., N]."""
        change = self._change(x.reshape(-1, self.in_features).to(self.down.dtype))
        return self.layer(x) + change.view(*x.shape[:-1], self.out_features).to(x.dtype)

    def _change(self, rows: Tensor) -> Tensor:
        n = rows.shape[0]
        padded = F.pad(rows, (0, 0, 0, -n % FIXED_ROWS))
        parts = [F.linear(F.linear(p, self.down), self.up) for p in padded.split(FIXED_ROWS)]
        return (parts[0] if len(parts) == 1 else torch.cat(parts))[:n]
