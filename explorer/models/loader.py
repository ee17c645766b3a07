"""Loads a base model: find the weights, choose the backend, build the network."""

from __future__ import annotations

import contextlib
import logging
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
from accelerate import init_empty_weights
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoTokenizer,
    BitsAndBytesConfig,
    GgufConfig,
    PretrainedConfig,
)
from transformers.utils import logging as transformers_logging

from explorer.kernels.attention import FIXED_ORDER
from explorer.kernels.lm_head import IntegerHead, LMHead, rows_of_codes, rows_of_weight
from explorer.kernels.matrices import IntegerMatrix, runs
from explorer.models.backends import DTYPES, choose_backend, choose_device, quantise_nf4
from explorer.models.base import LanguageModel
from explorer.models.gguf_network import can_fill, converted, fill, refuse_unread
from explorer.models.llama_pass import llama_pass
from explorer.models.stored_quantisation import load_as_stored, require_as_stored, stored_as
from explorer.models.whole_checkpoint import read_whole
from explorer.records.errors import ExplorerError
from explorer.records.progress import Progress, quiet
from explorer.weights import hub
from explorer.weights.cache import CACHE_VARIABLE, cache_folder, chosen_folder
from explorer.weights.folders import require_weights
from explorer.weights.gguf_cache import described
from explorer.weights.gguf_file import GGUFFile
from explorer.weights.presets import ModelOptions
from explorer.weights.sources import Weights, find_weights

Inspect = Callable[[PretrainedConfig, str], None]
DEFAULT_CONTEXT = 2048


def load_model(
    options: ModelOptions, progress: Progress | None = None, inspect: Inspect | None = None
) -> LanguageModel:
    """The base model that `options` ask for.

    `inspect` gets its configuration and its name before any weight is read. Raises
    ExplorerError with the remedy: missing or broken weights, offline, out of memory, an
    architecture or a backend that is not supported.
    """
    report = progress or quiet
    report("Finding the weights", None)
    weights = find_weights(options, progress)
    device = choose_device(options.device)
    with quiet_libraries(), _explained(options.model_source):
        file = GGUFFile(weights.gguf) if weights.gguf else None
        config = _configuration(weights, file)
        if weights.folder and Path(weights.folder).is_dir():
            require_weights(Path(weights.folder))
        stored = None if file else stored_as(config)
        if stored:
            backend, why = require_as_stored(options.backend, stored)
        else:
            backend, why = choose_backend(options.backend, file, device)
        if inspect is not None:
            report("Checking the architecture", None)
            inspect(config, _title(options))
        report(f"Loading the weights ({backend}, {device.type})", None)
        notes = [why]
        if stored:
            network, backend, notes = load_as_stored(weights.folder, stored, device)
        elif file:
            network = _gguf_network(file, config, backend, device)
        else:
            network, left_out = _network(weights, backend, device)
            notes += left_out
        model = _wrapped(network, weights, file, backend, device, _title(options))
    preset = options.chosen_preset
    if preset and preset.chat_template and not model.tokenizer.chat_template:
        model.tokenizer.chat_template = preset.chat_template
    model.notes += notes
    if backend == "int4":
        model.notes += converted(file, device)
    if cache_folder() != chosen_folder():
        model.notes.append(
            f"{chosen_folder()} cannot be written, so downloads are kept in "
            f"{cache_folder()}: set {CACHE_VARIABLE} to a folder that stays."
        )
    if not getattr(model.tokenizer, "chat_template", None):
        model.notes.append("No chat template: the model gets prompts as they are typed.")
    return model


def _title(options: ModelOptions) -> str:
    preset = options.chosen_preset
    return preset.label if preset else Path(options.model_source).name or options.model_source


def _wrapped(
    network, weights: Weights, file: GGUFFile | None, backend: str, device: torch.device, name: str
) -> LanguageModel:
    network.requires_grad_(False).eval()
    choose_attention(network, device)
    tokenizer = AutoTokenizer.from_pretrained(_description(weights, file), trust_remote_code=False)
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
        compiled=llama_pass(network),
        gguf=weights.gguf,
    )


def _description(weights: Weights, file: GGUFFile | None) -> str | Path:
    """The place from which transformers reads the configuration and the tokenizer."""
    return described(file) if file else weights.folder


def _configuration(weights: Weights, file: GGUFFile | None) -> PretrainedConfig:
    try:
        return AutoConfig.from_pretrained(_description(weights, file), trust_remote_code=False)
    except (OSError, ValueError) as error:
        names = [] if file or Path(weights.folder).is_dir() else hub.gguf_files(weights.folder)
        if not names:
            raise
        listed = ", ".join(f"{weights.folder}:{name}" for name in names[:3])
        raise ExplorerError(
            f"'{weights.folder}' holds GGUF files only: name one of them, as in {listed}."
        ) from error


def _gguf_network(file: GGUFFile, config: PretrainedConfig, backend: str, device: torch.device):
    if can_fill(file):
        with init_empty_weights(include_buffers=False):
            network = AutoModelForCausalLM.from_config(
                config, dtype=DTYPES[backend], trust_remote_code=False
            )
        fill(network, file, backend, torch.device("cpu") if backend == "nf4" else device)
        network.to(device)  # buffers
    else:  # transformers converts this architecture's tensors itself
        network, _ = read_whole(
            file.path.parent,
            gguf_file=file.path.name,
            config=config,
            dtype=DTYPES[backend],
            quantization_config=GgufConfig(dequantize=True),
        )
        refuse_unread(network, file)
        network.to(device)
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
    network, left_out = read_whole(weights.folder, **arguments)
    if backend == "nf4" and device.type == "cpu":
        quantise_nf4(network, device)
    return network, left_out


def choose_attention(network, device: torch.device) -> None:
    """Fixed-order attention on a CPU if it may support the layer; else transformers' own.

    The start-up check tests whether it is right (measuring/selfcheck.py).
    """
    config = network.config.get_text_config()
    capped = getattr(config, "attn_logit_softcapping", None)
    if capped or not network._supports_sdpa:
        network.set_attn_implementation("eager")  # only eager attention caps its scores
        return
    fixed = device.type == "cpu" and network._supports_attention_backend
    network.set_attn_implementation(FIXED_ORDER if fixed else "sdpa")


def make_lm_head(network, file: GGUFFile | None = None) -> LMHead:
    """The network's LM head; in the file's own codes if it has them and a kernel runs them."""
    output = network.get_output_embeddings()
    config = network.config.get_text_config()
    divisor = (
        getattr(config, "logits_scaling", None) or 1.0
    )  # Granite; the start-up check finds others
    rest = {
        "bias": getattr(output, "bias", None),
        "softcap": getattr(config, "final_logit_softcapping", None),
        "scale": getattr(config, "logit_scale", None) or 1.0 / divisor,  # Cohere
    }
    codes = file.lm_head_codes() if file else None
    if codes is None:
        return LMHead(output.weight, rows_of_weight(output.weight), **rest)
    if output.weight.device.type == "cpu" and runs(codes):
        return IntegerHead(output.weight, IntegerMatrix(codes), **rest)
    return LMHead(output.weight, rows_of_codes(codes, output.weight.device), **rest)


def _eos_ids(network, tokenizer) -> frozenset[int]:
    ids = network.generation_config.eos_token_id if network.generation_config else None
    listed = ids if isinstance(ids, list) else [ids]
    return frozenset(i for i in [*listed, tokenizer.eos_token_id] if i is not None)


@contextlib.contextmanager
def quiet_libraries() -> Iterator[None]:
    """Hide the libraries' loading bars and hints; errors still raise."""
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
    """Turn the libraries' exceptions into one sentence with the remedy."""
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
        if "trust_remote_code" in text or "custom code" in text:
            raise ExplorerError(
                f"'{source}' needs Python code of its own, which is never run: choose another "
                "model."
            ) from error
        if isinstance(error, OSError) and error.errno is not None and error.filename:
            raise ExplorerError(
                f"'{source}' could not be loaded: {error.filename}: {error.strerror}; check that "
                "this file or folder is there and may be read and written."
            ) from error
        if isinstance(error, OSError) and Path(source).expanduser().exists():
            raise ExplorerError(
                f"'{source}' could not be loaded ({_first_line(text).rstrip('.')}): it is damaged "
                "or incomplete, so download it again, or choose another model."
            ) from error
        if isinstance(error, (OSError, ConnectionError)):
            raise ExplorerError(
                f"'{source}' could not be loaded: check the name, and the network connection if "
                f"it has to be downloaded ({_first_line(text)})."
            ) from error
        if isinstance(error, ImportError):
            raise ExplorerError(
                f"'{source}' is stored in a form that needs a package which is not installed "
                f"({_first_line(text)})."
            ) from error
        raise ExplorerError(
            f"'{source}' is not a causal language model that this version supports: choose "
            f"another model ({_first_line(text)})."
        ) from error


def _first_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[0][:200] if lines else "no details"
