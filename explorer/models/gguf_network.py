"""A network with the weights of a GGUF file; it keeps the codes that a kernel can run."""

from __future__ import annotations

import gguf
import numpy as np
import torch
from torch import nn
from transformers.integrations.gguf import GGUF_ARCHS
from transformers.modeling_gguf_pytorch_utils import (
    TENSOR_PROCESSORS,
    TensorProcessor,
    get_gguf_hf_weights_map,
)

from explorer.kernels.isa import instruction_set
from explorer.kernels.linears import eight_bit_codes_of
from explorer.kernels.packed import packed_linear
from explorer.records.errors import ExplorerError
from explorer.weights.gguf_codes import GROUP
from explorer.weights.gguf_file import GGUFFile
from explorer.weights.gguf_settings import FACTORS

# Architectures whose tensors are the network's own, one to one. llama.cpp stores the rows of
# Llama's query and key matrices with the two rotary halves interleaved.
ONE_TO_ONE = {"llama", "qwen2", "qwen3", "phi3"}
INTERLEAVED = {"llama"}


def can_fill(file: GGUFFile) -> bool:
    """Whether `fill` can build the file's architecture."""
    return file.architecture in ONE_TO_ONE


def fill(network: nn.Module, file: GGUFFile, backend: str, device: torch.device) -> None:
    """Give an empty network (weights on the meta device) the file's weights.

    With the backend int4, linear layers keep the file's codes where a kernel runs them.
    Raises ExplorerError if the file lacks a weight, or holds one that the network does not have.
    """
    arch = next(a for a, name in gguf.MODEL_ARCH_NAMES.items() if name == file.architecture)
    names = gguf.get_tensor_name_map(arch, network.config.num_hidden_layers)
    output = network.get_output_embeddings()  # stays plain: kernels/lm_head.py has its codes
    used = set(FACTORS)  # those are in the configuration
    for name, module in _modules_with_weights(network):
        stored = names.get_name(name)
        used |= {f"{stored}.{field}" for field, _ in module.named_parameters(recurse=False)}
        packed = None
        if backend == "int4" and isinstance(module, nn.Linear) and module is not output:
            packed = _packed_layer(file, stored, name, module, network.config, device)
        if packed is None:
            _fill_dense(file, stored, name, module, network.config, device)
        else:
            network.set_submodule(name, packed)
    network.tie_weights()
    refuse_unused(file, set(file.tensors) - used)


def refuse_unused(file: GGUFFile, unused: set[str]) -> None:
    """Raise ExplorerError for tensors that the network did not use."""
    if unused:
        first, *others = sorted(unused)
        more = f" and {len(others)} more" if others else ""
        raise ExplorerError(
            f"{file.path.name} holds the weight '{first}'{more}, which the network of its "
            f"architecture ({file.architecture}) has no place for: it belongs to a variant that is "
            "not supported; choose another file."
        )


def refuse_unread(network: nn.Module, file: GGUFFile) -> None:
    """Raise ExplorerError for weights of the file that transformers' own reader did not use."""
    if file.architecture in GGUF_ARCHS:
        return  # its newer reader reports them itself (models/whole_checkpoint.py)
    make = TENSOR_PROCESSORS.get(file.architecture, TensorProcessor)
    config = network.config.get_text_config()
    read = get_gguf_hf_weights_map(network, make(config=config.to_dict())).keys() | set(FACTORS)
    read |= {f"{name}.weight" for name in read if name.endswith("_exps")}  # all experts in one
    refuse_unused(file, file.tensors.keys() - read)


def converts(device: torch.device) -> bool:
    """Whether matrices that no kernel runs as stored are converted to 8 bits on this device."""
    return device.type == "cpu" and instruction_set() is not None


def converted(file: GGUFFile, device: torch.device) -> list[str]:
    """Notes for the user about matrices that do not run as stored."""
    types = ", ".join(file.other_types)
    if not types or not converts(device):
        return []
    return [f"The matrices that {file.path.name} stores in {types} run in 8 bits (Q8_0)."]


def _packed_layer(
    file: GGUFFile, stored: str | None, name: str, linear: nn.Linear, config, device: torch.device
) -> nn.Module | None:
    """The layer in the file's own codes, if this device has a kernel for them.

    Other formats are converted to 8 bits for the integer kernels (`converted`).
    """
    codes = file.codes(f"{stored}.weight")
    if codes is None and converts(device) and linear.in_features % GROUP == 0:
        codes = eight_bit_codes_of(file.dense(f"{stored}.weight", linear.weight))
    if codes is None:
        return None
    order = _row_order(file, name, codes.codes.shape[0], config)
    if order is not None:
        codes = codes.permuted(order)
    bias = None if linear.bias is None else file.dense(f"{stored}.bias", linear.bias)
    return packed_linear(codes, bias, device)


def _fill_dense(
    file: GGUFFile, stored: str | None, name: str, module: nn.Module, config, device: torch.device
) -> None:
    """Give a module its weights as plain numbers."""
    for field, empty in list(module.named_parameters(recurse=False)):
        dense = file.dense(f"{stored}.{field}", empty)
        order = _row_order(file, name, dense.shape[0], config)
        if order is not None:
            dense = dense[torch.from_numpy(order)]
        setattr(module, field, nn.Parameter(dense.to(device), requires_grad=False))


def _row_order(file: GGUFFile, name: str, rows: int, config) -> np.ndarray | None:
    """Row order that undoes the interleaving of a matrix, if it is stored interleaved."""
    layer = name.rpartition(".")[2]
    if file.architecture not in INTERLEAVED or layer not in ("q_proj", "k_proj"):
        return None
    heads = config.num_attention_heads if layer == "q_proj" else config.num_key_value_heads
    return np.arange(rows).reshape(heads, rows // heads // 2, 2).swapaxes(1, 2).reshape(-1)


def _modules_with_weights(network: nn.Module) -> list[tuple[str, nn.Module]]:
    """The modules that hold parameters, by name, but for an LM head that is the embedding."""
    tied = network.get_output_embeddings() if network.config.tie_word_embeddings else None
    return [
        (name, module)
        for name, module in network.named_modules()
        if module is not tied and any(True for _ in module.parameters(recurse=False))
    ]
