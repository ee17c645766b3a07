"""A LoRA adapter inside a base model while it is being trained; peft makes and holds it."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from explorer.kernels.linears import dense_weight, rounded_straight_through
from explorer.models.adapters import ADAPTER_CONFIG, ADAPTER_WEIGHTS, PREFIX, AdapterConfig
from explorer.models.base import LanguageModel
from explorer.records.errors import ExplorerError
from explorer.weights.folders import CONFIG, write_files
from explorer.weights.gguf_codes import GROUP

NAME = "default"  # peft's name of an adapter without one


class LoraLayer(nn.Module):
    """One linear layer with its adapter, as peft made it: W x + up·down x.

    `mode` says how it computes: "off" (the untouched layer), "unmerged" (peft's own forward) or
    "rounded" (W + up·down rounded to 4 bits; the gradient ignores the rounding).
    """

    def __init__(self, layer: Any, mode: str) -> None:
        super().__init__()
        self.layer, self.mode, self.training_mode = layer, mode, mode

    def forward(self, x: Tensor) -> Tensor:
        """[..., K] → [..., N]."""
        if self.mode == "off":
            return self.layer.base_layer(x)
        if self.mode == "unmerged":
            return self.layer(x)
        rounded = rounded_straight_through(self.tuned_weight())
        return F.linear(x, rounded.to(x.dtype), self.layer.base_layer.bias)

    def tuned_weight(self) -> Tensor:
        """W + up·down, [N, K] float32."""
        return dense_weight(self.layer.base_layer) + self.layer.get_delta_weight(NAME).float()


class Lora:
    """Every adapted layer of a network, by name."""

    def __init__(self, layers: dict[str, LoraLayer], config: Any, mode: str) -> None:
        self.layers, self.config, self.training_mode = layers, config, mode

    def switch(self, mode: str | None) -> None:
        """Set the mode of every layer; None: the one it is trained in."""
        for layer in self.layers.values():
            layer.mode = mode or layer.training_mode

    def parameters(self) -> dict[str, nn.Parameter]:
        """The trained matrices, by the names that peft's files give them."""
        return {
            f"{PREFIX}{name}.lora_{part}.weight": getattr(layer.layer, f"lora_{part}")[NAME].weight
            for name, layer in self.layers.items()
            for part in "AB"
        }

    def save(self, folder: Path, config: AdapterConfig) -> None:
        """Write the adapter in peft's format, with our own `config.json` beside it."""
        tensors = {
            name: parameter.detach().to("cpu", torch.bfloat16).contiguous()
            for name, parameter in self.parameters().items()
        }
        ours = config.model_dump(mode="json")
        configs = {ADAPTER_CONFIG: self._peft_config(config.base_model), CONFIG: ours}
        write_files(folder, {ADAPTER_WEIGHTS: tensors}, configs, "The adapter")

    def _peft_config(self, base_model: str) -> dict[str, Any]:
        raw = {**self.config.to_dict(), "base_model_name_or_path": base_model}
        raw["inference_mode"] = True
        return json.loads(json.dumps(raw, default=sorted))  # peft keeps names in sets


def require_peft() -> ModuleType:
    """The package peft, which only this training needs. Raises ExplorerError without it."""
    try:
        import peft
    except ImportError as error:
        raise ExplorerError(
            "Medusa-2 training needs the package peft: run 'pip install -r requirements-train.txt'."
        ) from error
    return peft


def add_lora(model: LanguageModel, rank: int, alpha: int, rounding: bool, seed: int) -> Lora:
    """Put an adapter on every linear layer but the LM head; it changes nothing yet.

    Raises ExplorerError if peft is not installed.
    """
    peft = require_peft()
    output = model.network.get_output_embeddings()
    names = [
        name
        for name, module in model.network.named_modules()
        if isinstance(module, nn.Linear) and module is not output
    ]
    leaves = sorted({name.rpartition(".")[2] for name in names})
    config = peft.LoraConfig(r=rank, lora_alpha=alpha, target_modules=leaves)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        peft.inject_adapter_in_model(config, model.network)
    mode = "rounded" if rounding else "unmerged"
    layers = {}
    for name in names:
        layer = model.network.get_submodule(name)
        whole_groups = layer.in_features % GROUP == 0
        layers[name] = LoraLayer(layer, mode if whole_groups else "unmerged")
        model.network.set_submodule(name, layers[name])
    lora = Lora(layers, config, mode)
    for parameter in lora.parameters().values():
        parameter.data = parameter.data.float()
    return lora


def on_four_bit_grid(network: nn.Module) -> bool:
    """Whether the layers' weights come from 4-bit codes: 16 values at most in a group of 32."""
    output = network.get_output_embeddings()
    linears = [m for m in network.modules() if isinstance(m, nn.Linear) and m is not output]
    dense = [m.weight for m in linears if m.weight.is_floating_point()]
    return bool(dense) and all(_sixteen_values(w) for w in dense[:4])


def _sixteen_values(weight: Tensor) -> bool:
    if weight.shape[1] % GROUP:
        return False
    ordered = weight[:64].float().reshape(-1, GROUP).sort(-1).values
    return bool((ordered.diff(dim=-1) != 0).sum(-1).max() < 16)
