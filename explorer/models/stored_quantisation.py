"""Checkpoints that are quantised already: they run as stored, under the name of their format."""

from __future__ import annotations

from typing import Any

import torch
from transformers import AutoModelForCausalLM, PretrainedConfig, PreTrainedModel

from explorer.records.errors import ExplorerError

DTYPE_NAMES = {torch.float32: "fp32", torch.bfloat16: "bf16", torch.float16: "fp16"}


def stored_as(config: PretrainedConfig) -> str | None:
    """How the weights are quantised in the checkpoint, as a backend's name; None if they are not.

    bitsandbytes' NF4 is called nf4; others have the name of their method.
    """
    stored = getattr(config, "quantization_config", None)
    if stored is None:
        return None
    given: dict[str, Any] = stored if isinstance(stored, dict) else stored.to_dict()
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
) -> tuple[PreTrainedModel, str, str]:
    """The network, its backend's name and one line why.

    If transformers can only run it dequantised, the name is that of the resulting dtype.
    Raises ExplorerError where it cannot run here.
    """
    place = {"device_map": "auto"} if device.type == "cuda" else {"device_map": "cpu"}
    try:
        network = AutoModelForCausalLM.from_pretrained(
            source, dtype="auto", trust_remote_code=False, **place
        )
    except (MemoryError, torch.OutOfMemoryError):
        raise
    except Exception as error:  # each method needs a package of its own, which may be missing
        reason = (str(error).strip().splitlines() or ["no details"])[0]
        raise ExplorerError(
            f"'{source}' is stored as {stored}, which cannot run here ({reason:.200}): choose the "
            "checkpoint that it was made from, or a GGUF of it."
        ) from error
    quantiser = getattr(network, "hf_quantizer", None)
    if quantiser is None or getattr(quantiser.quantization_config, "dequantize", False):
        name = DTYPE_NAMES.get(network.dtype, str(network.dtype))
        return network, name, f"{name}: the checkpoint is stored as {stored}, and runs dequantised."
    return network, *require_as_stored("auto", stored)
