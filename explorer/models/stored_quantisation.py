"""Checkpoints that are quantised already: they run as stored, under the name of their format."""

from __future__ import annotations

from typing import Any

import torch
from transformers import AutoConfig, PretrainedConfig, PreTrainedModel
from transformers.quantizers import AutoHfQuantizer

from explorer.models.whole_checkpoint import read_whole
from explorer.records.errors import ExplorerError

DTYPE_NAMES = {torch.float32: "fp32", torch.bfloat16: "bf16", torch.float16: "fp16"}


def stored_as(config: PretrainedConfig) -> str | None:
    """How the weights are quantised in the checkpoint, as a backend's name; None if they are not.

    bitsandbytes' NF4 is called nf4; others have the name of their method.
    """
    stored = getattr(config, "quantization_config", None)
    if stored is None:
        return None
    given = _as_dict(stored)
    method = str(
        getattr(given.get("quant_method"), "value", given.get("quant_method")) or "unknown"
    )
    if "bitsandbytes" in method or "load_in_4bit" in given:
        if given.get("load_in_8bit"):
            return "bnb-int8"
        kind = given.get("bnb_4bit_quant_type") or "fp4"
        return "nf4" if kind == "nf4" else f"bnb-{kind}"
    bits = given.get("bits") or given.get("w_bit")
    return f"{method}-{bits}bit" if bits else method


def _as_dict(stored: Any) -> dict[str, Any]:
    return stored if isinstance(stored, dict) else stored.to_dict()


def require_as_stored(wanted: str, stored: str) -> tuple[str, str]:
    """The backend and the reason. Raises ExplorerError if the user chose another one."""
    if wanted not in ("auto", stored):
        raise ExplorerError(
            f"The checkpoint is quantised already ({stored}) and runs as it is stored, not in "
            f"{wanted}: leave the backend at auto, or choose the checkpoint that it was made from."
        )
    return stored, f"{stored}: the checkpoint is quantised already, and runs as it is stored."


def load_as_stored(
    source: str, stored: str, device: torch.device
) -> tuple[PreTrainedModel, str, list[str]]:
    """The network, its backend's name and notes that say why.

    If transformers can only run it dequantised, the name is that of the resulting dtype.
    Raises ExplorerError where it cannot run here.
    """
    given = AutoConfig.from_pretrained(source, trust_remote_code=False).quantization_config
    if not AutoHfQuantizer.supports_quant_method(_as_dict(given)):
        raise ExplorerError(  # transformers would load the codes as if they were the weights
            f"'{source}' is stored as {stored}, a form that transformers does not read: choose the "
            "checkpoint that it was made from, or a GGUF of it."
        )
    place = {"device_map": "auto"} if device.type == "cuda" else {"device_map": "cpu"}
    try:
        network, left_out = read_whole(source, dtype="auto", **place)
    except (ExplorerError, MemoryError, torch.OutOfMemoryError):
        raise
    except Exception as error:  # each method needs a package of its own, which may be missing
        reason = (str(error).strip().splitlines() or ["no details"])[0]
        raise ExplorerError(
            f"'{source}' is stored as {stored}, which cannot run here ({reason:.200}): choose the "
            "checkpoint that it was made from, or a GGUF of it."
        ) from error
    quantiser = getattr(network, "hf_quantizer", None)  # gone where nothing is left to do
    if quantiser is None or getattr(quantiser.quantization_config, "dequantize", False):
        name = DTYPE_NAMES.get(network.dtype, str(network.dtype))
        why = f"{name}: the checkpoint is stored as {stored}, and runs dequantised."
        return network, name, [why, *left_out]
    name, why = require_as_stored("auto", stored)
    return network, name, [why, *left_out]
