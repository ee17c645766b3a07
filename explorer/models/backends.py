"""The four backends, and the choice between them for a machine and a file."""

from __future__ import annotations

import torch
from torch import nn

from explorer.kernels.isa import instruction_set
from explorer.kernels.nf4 import COLUMNS, ROWS, nf4_linear
from explorer.models.gguf_network import can_fill
from explorer.records.errors import ExplorerError
from explorer.weights.gguf_file import GGUFFile

DTYPES = {
    "int4": torch.bfloat16,
    "nf4": torch.bfloat16,
    "bf16": torch.bfloat16,
    "fp32": torch.float32,
}


def choose_device(wanted: str) -> torch.device:
    """The device to run on. Raises ExplorerError if CUDA is chosen and not available."""
    if wanted == "cuda" and not torch.cuda.is_available():
        raise ExplorerError("PyTorch sees no CUDA GPU here: use --device cpu.")
    cuda = torch.cuda.is_available() and wanted != "cpu"
    return torch.device("cuda" if cuda else "cpu")


def choose_backend(wanted: str, file: GGUFFile | None, device: torch.device) -> tuple[str, str]:
    """The backend, and one line that says why. Raises ExplorerError if it cannot run.

    `file` is the GGUF that holds the weights, if one does.
    """
    codes = file is not None and can_fill(file) and _runs_codes(file, device)
    if wanted == "int4" and not codes:
        raise ExplorerError(
            "The int4 backend runs the codes of a Q4_0 or Q4_1 GGUF (on most CPUs also Q8_0) of a "
            "Llama, Mistral, Qwen or Phi-3 model, and this model has none: use --backend nf4, or "
            "give such a file."
        )
    if wanted == "nf4" and device.type == "cpu":
        return wanted, "nf4, as you asked; on a CPU bitsandbytes runs without its optional kernels."
    if wanted != "auto":
        return wanted, f"{wanted}, as you asked."
    if codes:
        bits = "4-bit" if file.has_four_bit_codes else "8-bit"
        return "int4", f"int4: the file's own {bits} codes run, without another conversion."
    if device.type == "cuda":
        return "nf4", "nf4: the default on a GPU; its speed was not compared with bf16 here."
    if fast_bf16():
        return "bf16", "bf16: this CPU multiplies bf16 in hardware."
    return "fp32", "fp32: this CPU has no fast bf16."


def _runs_codes(file: GGUFFile, device: torch.device) -> bool:
    """Whether a kernel of this device runs most of the file's matrices as they are stored."""
    integers = device.type == "cpu" and instruction_set() is not None
    return file.has_whole_codes if integers else file.has_four_bit_codes


def fast_bf16() -> bool:
    """Whether this CPU has instructions for bf16 products."""
    return torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()


def quantise_nf4(network: nn.Module, device: torch.device) -> None:
    """Replace every linear layer but the LM head by bitsandbytes' NF4, double-quantised.

    Layers whose shape the kernels do not support stay in bf16.
    """
    for name, linear in _inner_linears(network):
        if linear.in_features % COLUMNS or linear.out_features % ROWS:
            continue
        network.set_submodule(name, nf4_linear(linear.weight.data, linear.bias, device))


def _inner_linears(network: nn.Module) -> list[tuple[str, nn.Linear]]:
    output = network.get_output_embeddings()
    return [
        (name, module)
        for name, module in network.named_modules()
        if isinstance(module, nn.Linear) and module is not output
    ]
