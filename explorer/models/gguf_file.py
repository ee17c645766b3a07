"""A GGUF file: its tensors as they lie on disk, and the network that transformers describes.

The file's header is read with transformers' own reader, which maps the file instead of copying
it: opening the default model takes a fraction of a second. Matrices keep their 4-bit codes or
are dequantised by ggml's reference code (package gguf); they are never quantised a second time.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import gguf
import numpy as np
import torch
from torch import nn
from transformers.integrations.gguf.reader import GgufHeader, load_gguf_state_dict

from explorer.models import int4
from explorer.models.gguf_codes import (
    Q4_TYPES,
    Q8_TYPES,
    Codes,
    eight_bit_codes,
    four_bit_codes,
)
from explorer.records.errors import ExplorerError

# Architectures whose tensors are the network's own, one to one. llama.cpp stores the rows of
# Llama's query and key matrices with the two rotary halves interleaved.
ONE_TO_ONE = {"llama", "qwen2", "qwen3", "phi3"}
INTERLEAVED = {"llama"}


@dataclass(frozen=True)
class StoredTensor:
    """One tensor as stored: data [rows, bytes a row] uint8, or the values of a float tensor."""

    tensor_type: gguf.GGMLQuantizationType
    data: np.ndarray
    shape: tuple[int, ...]


class GGUFFile:
    """The tensors of a GGUF file by name. Raises ExplorerError for a file that is none."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._header = GgufHeader.from_file(str(path))
        except Exception as error:  # a broken header breaks its reader in many ways
            raise ExplorerError(
                f"{path.name} is not a readable GGUF file ({error!s:.120}): download it again."
            ) from error

    @property
    def architecture(self) -> str:
        """llama.cpp's name of the architecture."""
        return self._header.architecture

    @cached_property
    def tensors(self) -> dict[str, StoredTensor]:
        """All tensors by GGUF name; their data is read when it is looked at."""
        stored = load_gguf_state_dict(self._header)
        return {
            info.name: StoredTensor(
                gguf.GGMLQuantizationType(info.ggml_type), stored[info.name].data, info.shape
            )
            for info in self._header.tensors
        }

    @property
    def has_four_bit_codes(self) -> bool:
        """Whether most of the matrices are Q4_0 or Q4_1."""
        matrices = [tensor for tensor in self.tensors.values() if len(tensor.shape) == 2]
        return sum(tensor.tensor_type in Q4_TYPES for tensor in matrices) > len(matrices) / 2

    @property
    def one_to_one(self) -> bool:
        """Whether `fill` can build this architecture."""
        return self.architecture in ONE_TO_ONE

    def fill(self, network: nn.Module, backend: str, device: torch.device) -> None:
        """Give an empty network (weights on the meta device) the file's weights.

        With the backend int4, linear layers that the file holds in 4 bits become Int4Linear.
        Raises ExplorerError if the file lacks a weight.
        """
        names = gguf.get_tensor_name_map(self._arch, network.config.num_hidden_layers)
        for name, module in _modules_with_weights(network):
            stored = names.get_name(name)
            packed = None
            if backend == "int4" and isinstance(module, nn.Linear):
                packed = self._int4_layer(stored, name, module, network.config, device)
            if packed is None:
                self._fill_dense(stored, name, module, network.config, device)
            else:
                network.set_submodule(name, packed)
        network.tie_weights()

    def _int4_layer(
        self, stored: str | None, name: str, linear: nn.Linear, config, device: torch.device
    ) -> int4.Int4Linear | None:
        """The layer with the file's own 4-bit codes, if it has any that this device can run."""
        codes = self._four_bit(stored, name, config)
        if codes is None or not int4.supports(codes, device):
            return None
        bias = None if linear.bias is None else self._dense(f"{stored}.bias", linear.bias)
        return int4.Int4Linear(codes, bias, device)

    def _fill_dense(
        self, stored: str | None, name: str, module: nn.Module, config, device: torch.device
    ) -> None:
        """Give a module its weights as plain numbers."""
        for field, empty in list(module.named_parameters(recurse=False)):
            dense = self._row_order(self._dense(f"{stored}.{field}", empty), name, config)
            setattr(module, field, nn.Parameter(dense.to(device), requires_grad=False))

    @property
    def _arch(self) -> gguf.MODEL_ARCH:
        return next(a for a, name in gguf.MODEL_ARCH_NAMES.items() if name == self.architecture)

    def _four_bit(self, stored: str | None, name: str, config) -> Codes | None:
        tensor = self.tensors.get(f"{stored}.weight")
        if tensor is None or tensor.tensor_type not in Q4_TYPES:
            return None
        codes = four_bit_codes(tensor)
        order = self._order_of(name, codes.codes.shape[0], config)
        return codes if order is None else codes.permuted(order)

    def _dense(self, stored: str, like: torch.Tensor) -> torch.Tensor:
        tensor = self.tensors.get(stored)
        if tensor is None or tensor.shape != tuple(like.shape):
            raise ExplorerError(
                f"{self.path.name} does not hold the weight '{stored}' in the shape that its "
                "configuration asks for: download the file again, or choose another."
            )
        values = gguf.quants.dequantize(_typed(tensor), tensor.tensor_type)
        return torch.from_numpy(values.reshape(tensor.shape).copy()).to(like.dtype)

    def _row_order(self, dense: torch.Tensor, name: str, config) -> torch.Tensor:
        order = self._order_of(name, dense.shape[0], config)
        return dense if order is None else dense[torch.from_numpy(order)]

    def _order_of(self, name: str, rows: int, config) -> np.ndarray | None:
        """Row order that undoes the interleaving of a matrix, if it is stored interleaved."""
        layer = name.rpartition(".")[2]
        if self.architecture not in INTERLEAVED or layer not in ("q_proj", "k_proj"):
            return None
        heads = config.num_attention_heads if layer == "q_proj" else config.num_key_value_heads
        return np.arange(rows).reshape(heads, rows // heads // 2, 2).swapaxes(1, 2).reshape(-1)

    def lm_head_codes(self) -> Codes | None:
        """The 8-bit codes of the LM head (the embedding's, where they are tied), if it has any."""
        tensor = self.tensors.get("output.weight", self.tensors.get("token_embd.weight"))
        if tensor is None or tensor.tensor_type not in Q8_TYPES:
            return None
        return eight_bit_codes(tensor)


def _modules_with_weights(network: nn.Module) -> list[tuple[str, nn.Module]]:
    """The modules that hold parameters, by name, but for an LM head that is the embedding."""
    tied = network.get_output_embeddings() if network.config.tie_word_embeddings else None
    return [
        (name, module)
        for name, module in network.named_modules()
        if module is not tied and any(True for _ in module.parameters(recurse=False))
    ]


def _typed(tensor: StoredTensor) -> np.ndarray:
    """Stored bytes as gguf.quants.dequantize takes them."""
    plain = {
        gguf.GGMLQuantizationType.F32: np.float32,
        gguf.GGMLQuantizationType.F16: np.float16,
    }
    if tensor.tensor_type in plain:
        return tensor.data.view(plain[tensor.tensor_type]).reshape(tensor.shape)
    return tensor.data.reshape(*tensor.shape[:-1], -1)
