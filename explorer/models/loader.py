"""Loads a base model: find the weights, choose the backend, build the network."""

from __future__ import annotations

import contextlib
import logging
import warnings
from collections.abc import Iterator
from pathlib import Path

import torch
from accelerate import init_empty_weights
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoTokenizer,
    BitsAndBytesConfig,
    GgufConfig,
)
from transformers.utils import logging as transformers_logging

from explorer.kernels.attention import FIXED_ORDER
from explorer.kernels.lm_head import LMHead, rows_of_codes, rows_of_weight
from explorer.models.backends import DTYPES, choose_backend, choose_device, quantise_nf4
from explorer.models.base import LanguageModel
from explorer.models.gguf_network import can_fill, fill
from explorer.records.errors import ExplorerError
from explorer.records.progress import Progress, quiet
from explorer.weights.gguf_cache import described
from explorer.weights.gguf_file import GGUFFile
from explorer.weights.presets import ModelOptions
from explorer.weights.sources import Weights, find_weights

DEFAULT_CONTEXT = 2048


def load_model(options: ModelOptions, progress: Progress | None = None) -> LanguageModel:
    """The base model that `options` ask for.

    Raises ExplorerError with the remedy: missing or broken weights, offline, out of memory, an
    architecture or a backend that is not supported.
    """
    tell = progress or quiet
    tell("Finding the weights", None)
    weights = find_weights(options, progress)
    device = choose_device(options.device)
    with _quiet_libraries(), _explained(options.model_source):
        file = GGUFFile(weights.gguf) if weights.gguf else None
        backend, why = choose_backend(options.backend, file, device)
        tell(f"Loading the weights ({backend}, {device.type})", None)
        network = (
            _gguf_network(file, backend, device) if file else _network(weights, backend, device)
        )
        model = _wrapped(network, weights, file, backend, device, _title(options))
    model.notes.append(why)
    return model


def _title(options: ModelOptions) -> str:
    preset = options.chosen_preset
    return preset.label if preset else Path(options.model_source).name or options.model_source


def _wrapped(
    network, weights: Weights, file: GGUFFile | None, backend: str, device: torch.device, name: str
) -> LanguageModel:
    network.requires_grad_(False).eval()
    choose_attention(network, device)
    tokenizer = AutoTokenizer.from_pretrained(_description(weights))
    context = getattr(network.config.get_text_config(), "max_position_embeddings", None)
    return LanguageModel(
        network=network,
        tokenizer=tokenizer,
        lm_head=make_lm_head(network, file if backend == "int4" else None),
        name=name,
        backend=backend,
        device=device,
        context_length=context or DEFAULT_CONTEXT,
        eos_ids=_eos_ids(network, tokenizer),
        gguf=weights.gguf,
    )


def _description(weights: Weights) -> str | Path:
    """Where transformers reads the configuration and the tokenizer."""
    return described(weights.gguf) if weights.gguf else weights.folder


def _gguf_network(file: GGUFFile, backend: str, device: torch.device):
    if can_fill(file):
        config = AutoConfig.from_pretrained(described(file.path))
        with init_empty_weights(include_buffers=False):
            network = AutoModelForCausalLM.from_config(config, dtype=DTYPES[backend])
        fill(network, file, backend, torch.device("cpu") if backend == "nf4" else device)
        network.to(device)  # buffers
    else:  # transformers knows how this architecture's tensors become the network's
        network = AutoModelForCausalLM.from_pretrained(
            file.path.parent,
            gguf_file=file.path.name,
            dtype=DTYPES[backend],
            quantization_config=GgufConfig(dequantize=True),
        ).to(device)
    if backend == "nf4":
        quantise_nf4(network, device)
    return network


def _network(weights: Weights, backend: str, device: torch.device):
    arguments: dict = {"dtype": DTYPES[backend]}
    if device.type == "cuda":
        arguments["device_map"] = "auto"  # accelerate: several GPUs where one is too small
    if backend == "nf4" and device.type == "cuda":  # quantised while it streams in
        arguments["quantization_config"] = BitsAndBytesConfig(
            load_in_4bit=True,
            bnb_4bit_quant_type="nf4",
            bnb_4bit_use_double_quant=True,
            bnb_4bit_compute_dtype=DTYPES[backend],
        )
    network = AutoModelForCausalLM.from_pretrained(weights.folder, **arguments)
    if backend == "nf4" and device.type == "cpu":
        quantise_nf4(network, device)
    return network


def choose_attention(network, device: torch.device) -> None:
    """Fixed-order attention on a CPU where it knows the layer; transformers' own elsewhere."""
    config = network.config.get_text_config()
    if getattr(config, "attn_logit_softcapping", None):
        network.set_attn_implementation("eager")  # only eager attention caps its scores
        return
    size = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    fixed = device.type == "cpu" and size % 4 == 0 and network._supports_attention_backend
    network.set_attn_implementation(FIXED_ORDER if fixed else "sdpa")


def make_lm_head(network, file: GGUFFile | None = None) -> LMHead:
    """The network's LM head; the shortlist is scored from the file's own codes if it has them."""
    output = network.get_output_embeddings()
    config = network.config.get_text_config()
    codes = file.lm_head_codes() if file else None
    if codes is None:
        exact_rows = rows_of_weight(output.weight)
    else:
        exact_rows = rows_of_codes(codes, output.weight.device)
    divisor = getattr(config, "logits_scaling", None) or 1.0  # Granite
    return LMHead(
        output.weight,
        exact_rows,
        bias=getattr(output, "bias", None),
        softcap=getattr(config, "final_logit_softcapping", None),
        scale=getattr(config, "logit_scale", None) or 1.0 / divisor,  # Cohere
    )


def _eos_ids(network, tokenizer) -> frozenset[int]:
    ids = network.generation_config.eos_token_id if network.generation_config else None
    listed = ids if isinstance(ids, list) else [ids]
    return frozenset(i for i in [*listed, tokenizer.eos_token_id] if i is not None)


@contextlib.contextmanager
def _quiet_libraries() -> Iterator[None]:
    """Keep the libraries' loading bars and hints off the user's screen; errors still raise."""
    names = ("transformers", "bitsandbytes", "accelerate", "gguf")
    before = {name: logging.getLogger(name).level for name in names}
    bars = transformers_logging.is_progress_bar_enabled()
    transformers_logging.disable_progress_bar()
    for name in names:
        logging.getLogger(name).setLevel(logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            yield
        finally:
            for name, level in before.items():
                logging.getLogger(name).setLevel(level)
            if bars:
                transformers_logging.enable_progress_bar()


@contextlib.contextmanager
def _explained(source: str) -> Iterator[None]:
    """Turn what the libraries raise into one sentence with the remedy."""
    try:
        yield
    except ExplorerError:
        raise
    except (MemoryError, torch.OutOfMemoryError) as error:
        raise ExplorerError(
            f"There is not enough memory for '{source}': choose a smaller model, the backend nf4 "
            "or int4, or free memory."
        ) from error
    except Exception as error:
        text = str(error)
        if "not enough memory" in text or "out of memory" in text:
            raise ExplorerError(
                f"There is not enough memory for '{source}': choose a smaller model or a 4-bit "
                "backend, or free memory."
            ) from error
        if isinstance(error, (OSError, ConnectionError)):
            raise ExplorerError(
                f"'{source}' could not be loaded: check the name, and the network connection if "
                f"it has to be downloaded ({_first_line(text)})."
            ) from error
        raise ExplorerError(
            f"'{source}' is not a causal language model that this version supports: choose "
            f"another model ({_first_line(text)})."
        ) from error


def _first_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[0][:200] if lines else "no details"
