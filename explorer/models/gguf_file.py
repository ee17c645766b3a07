"""A GGUF file beside the network that transformers built from it.

transformers reads the file into a dequantised network, for every architecture it knows. Here each
linear layer whose matrix the file holds in 4 bits gets those codes back. Some architectures store
rows in another order than the network does; so a layer is replaced only once its codes, taken out
and dequantised, are found to be the layer's own weights.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

import gguf
import numpy as np
import torch
from torch import nn

from explorer.errors import ExplorerError
from explorer.models import int4
from explorer.models.gguf_codes import (
    Q4_TYPES,
    Q8_TYPES,
    Codes,
    eight_bit_codes,
    four_bit_codes,
)


def has_four_bit_codes(path: Path) -> bool:
    """Whether most of the file's matrices are Q4_0 or Q4_1."""
    matrices = [tensor for tensor in GGUFFile(path).tensors.values() if len(tensor.shape) == 2]
    return sum(tensor.tensor_type in Q4_TYPES for tensor in matrices) > len(matrices) / 2


class GGUFFile:
    """The tensors of a GGUF file by name. Raises ExplorerError for a file that is none."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @cached_property
    def _reader(self) -> gguf.GGUFReader:
        try:
            return gguf.GGUFReader(self.path)
        except (OSError, ValueError, IndexError, KeyError) as error:
            raise ExplorerError(
                f"{self.path.name} is not a readable GGUF file: download it again."
            ) from error

    @cached_property
    def tensors(self) -> dict[str, gguf.ReaderTensor]:
        """All tensors of the file by GGUF name."""
        return {tensor.name: tensor for tensor in self._reader.tensors}

    @cached_property
    def _names(self) -> gguf.TensorNameMap:
        field = self._reader.fields["general.architecture"]
        architecture = bytes(field.parts[field.data[0]]).decode()
        arch = next(a for a, name in gguf.MODEL_ARCH_NAMES.items() if name == architecture)
        return gguf.get_tensor_name_map(arch, 1024)

    def pack_linears(self, network: nn.Module, device: torch.device) -> None:
        """Replace the linear layers that the file holds in 4 bits by Int4Linear."""
        output = network.get_output_embeddings()
        linears = [
            (name, module)
            for name, module in network.named_modules()
            if isinstance(module, nn.Linear) and module is not output
        ]
        packed = 0
        for name, linear in linears:
            codes = self._codes_of(name, linear, network.config.get_text_config())
            if codes is not None and int4.supports(codes, device):
                network.set_submodule(name, int4.Int4Linear(codes, linear.bias, device))
                packed += 1
        if packed == 0:
            raise ExplorerError(
                f"No matrix of {self.path.name} fits the int4 kernel: use --backend bf16."
            )

    def _codes_of(self, name: str, linear: nn.Linear, config) -> Codes | None:
        tensor = self.tensors.get(f"{self._names.get_name(name)}.weight")
        if tensor is None or tensor.tensor_type not in Q4_TYPES:
            return None
        codes = four_bit_codes(tensor)
        for order in _row_orders(codes.codes.shape[0], config):
            candidate = codes if order is None else codes.permuted(order)
            if _same(candidate, linear.weight):
                return candidate
        return None

    def lm_head_codes(self) -> Codes | None:
        """The 8-bit codes of the LM head (the embedding's, where they are tied), if it has any."""
        tensor = self.tensors.get("output.weight", self.tensors.get("token_embd.weight"))
        if tensor is None or tensor.tensor_type not in Q8_TYPES:
            return None
        return eight_bit_codes(tensor)


def _row_orders(rows: int, config) -> list[np.ndarray | None]:
    """None (as stored), then llama.cpp's interleaving of rotary halves undone, per head count."""
    orders: list[np.ndarray | None] = [None]
    for heads in {config.num_attention_heads, config.num_key_value_heads}:
        if rows % (2 * heads) == 0:
            stored = np.arange(rows).reshape(heads, rows // heads // 2, 2)
            orders.append(stored.swapaxes(1, 2).reshape(-1))
    return orders


def _same(codes: Codes, weight: torch.Tensor) -> bool:
    dequantised = torch.from_numpy(codes.dequantised()).to(weight.dtype)
    return torch.equal(dequantised, weight.cpu())
