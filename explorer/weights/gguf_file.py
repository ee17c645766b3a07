"""A GGUF file: its tensors as stored, as codes and as plain numbers.

The file's header is read with transformers' own reader, which maps the file instead of copying
it: opening the default model takes a fraction of a second. Matrices keep their 4-bit codes or
are dequantised by ggml's reference code (package gguf); they are never quantised a second time.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import torch
from transformers.integrations.gguf.reader import (
    GgufHeader,
    load_gguf_state_dict,
    read_gguf_metadata,
)

from explorer.records.errors import ExplorerError
from explorer.weights.gguf_codes import (
    Q4_TYPES,
    Q8_TYPES,
    Codes,
    StoredTensor,
    eight_bit_codes,
    four_bit_codes,
)


class GGUFFile:
    """The tensors of a GGUF file by name. Raises ExplorerError if it is not a GGUF file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._header = GgufHeader.from_file(str(path))
        except Exception as error:  # a broken header makes the reader fail in many ways
            raise ExplorerError(
                f"{path.name} is not a readable GGUF file ({error!s:.120}): download it again."
            ) from error
        needed = max(
            (self._header.data_start + each.offset + each.nbytes for each in self._header.tensors),
            default=0,
        )
        if path.stat().st_size < needed:
            raise ExplorerError(
                f"{path.name} is cut off: it has {path.stat().st_size} of {needed} bytes; download "
                "it again."
            )
        parts = self.metadata.get("split.count", 1)
        if parts > 1:
            part = self.metadata.get("split.no", 0) + 1
            raise ExplorerError(
                f"{path.name} is part {part} of {parts} of a model: merge all parts with "
                "'llama-gguf-split --merge FIRST_PART OUT.gguf' and give the merged file."
            )

    @cached_property
    def metadata(self) -> dict[str, Any]:
        """All settings by key; lists other than the tokens are replaced by their length."""
        return read_gguf_metadata(str(self.path), ("tokenizer.ggml.tokens",))[0]

    @property
    def architecture(self) -> str:
        """llama.cpp's name of the architecture."""
        return self._header.architecture

    @cached_property
    def tensors(self) -> dict[str, StoredTensor]:
        """All tensors by GGUF name; their data is read on access."""
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
        return self._mostly(Q4_TYPES)

    @property
    def has_whole_codes(self) -> bool:
        """Whether most of the matrices are Q4_0, Q4_1 or Q8_0."""
        return self._mostly((*Q4_TYPES, *Q8_TYPES))

    def _mostly(self, types: tuple[gguf.GGMLQuantizationType, ...]) -> bool:
        matrices = [tensor for tensor in self.tensors.values() if len(tensor.shape) == 2]
        return sum(tensor.tensor_type in types for tensor in matrices) > len(matrices) / 2

    @property
    def other_types(self) -> list[str]:
        """The types of a layer's matrices that are none of these, sorted."""
        found = {
            tensor.tensor_type
            for name, tensor in self.tensors.items()
            if name.startswith("blk.") and len(tensor.shape) == 2
        }
        return sorted(kind.name for kind in found - {*Q4_TYPES, *Q8_TYPES})

    def codes(self, stored: str) -> Codes | None:
        """The codes of a matrix, if the file holds it in groups of 32 weights of 4 or 8 bits."""
        tensor = self.tensors.get(stored)
        if tensor is None or len(tensor.shape) != 2:
            return None
        if tensor.tensor_type in Q4_TYPES:
            return four_bit_codes(tensor)
        return eight_bit_codes(tensor) if tensor.tensor_type in Q8_TYPES else None

    def dense(self, stored: str, like: torch.Tensor) -> torch.Tensor:
        """A weight as plain numbers, of the shape and dtype of `like`, in the file's row order.

        Raises ExplorerError if the file lacks it.
        """
        tensor = self.tensors.get(stored)
        if tensor is None:
            raise ExplorerError(
                f"{self.path.name} lacks the weight '{stored}': download the file again, or choose "
                "another."
            )
        if tensor.shape != tuple(like.shape):
            raise ExplorerError(
                f"{self.path.name} holds the weight '{stored}' in the shape {list(tensor.shape)}, "
                f"and its settings ask for {list(like.shape)}: it belongs to a variant of the "
                f"architecture {self.architecture} that is not supported; choose another file."
            )
        return torch.from_numpy(self.plain(stored).copy()).to(like.dtype)

    def plain(self, stored: str) -> np.ndarray:
        """The values of a tensor that the file has, dequantised, in its own shape."""
        tensor = self.tensors[stored]
        values = gguf.quants.dequantize(_typed(tensor), tensor.tensor_type)
        return values.reshape(tensor.shape)

    def lm_head_codes(self) -> Codes | None:
        """The 8-bit codes of the LM head (the embedding's, where they are tied), if it has any."""
        tensor = self.tensors.get("output.weight", self.tensors.get("token_embd.weight"))
        if tensor is None or tensor.tensor_type not in Q8_TYPES:
            return None
        return eight_bit_codes(tensor)


def _typed(tensor: StoredTensor) -> np.ndarray:
    """Stored bytes as gguf.quants.dequantize takes them."""
    plain = {
        gguf.GGMLQuantizationType.F32: np.float32,
        gguf.GGMLQuantizationType.F16: np.float16,
    }
    if tensor.tensor_type in plain:
        return tensor.data.view(plain[tensor.tensor_type]).reshape(tensor.shape)
    return tensor.data.reshape(*tensor.shape[:-1], -1)
