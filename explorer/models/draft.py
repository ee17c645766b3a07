"""A small draft model: the first layers of the base model, trained to predict its output.

It reads the same tokens as its base model, and shares the base model's embedding and LM head in
memory; a checkpoint holds only the draft's own layers and final norm. If the draft has its own
vocabulary (the most frequent tokens, as in FR-Spec), its LM head is those rows of the base model's,
which is most of the cost of a draft pass, and all other tokens get the logit −∞.

A checkpoint is `model.safetensors` beside `config.json` (the fields of DraftConfig). Tensors carry
the network's own names; with the storage int4 a linear layer's weight is ggml's Q4_1 blocks, uint8
[N, K / 32 · 20], which the int4 backend runs as they are. token_map int32 [V_d] are full token ids.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from pathlib import Path

import torch
from accelerate import init_empty_weights
from torch import Tensor, nn
from transformers import AutoModelForCausalLM

from explorer.kernels.linears import (
    codes_of_blocks,
    dense_linear,
    dense_weight,
    dequantised,
    four_bit_blocks,
    is_linear,
)
from explorer.kernels.lm_head import LMHead
from explorer.kernels.packed import packed_linear
from explorer.models.base import LanguageModel
from explorer.models.draft_files import (
    DraftConfig,
    broken,
    read_config,
    read_tensors,
    token_map_of,
)
from explorer.models.llama_pass import llama_pass
from explorer.models.rotary import settle_rotary
from explorer.records.errors import ExplorerError
from explorer.records.paths import ASSETS
from explorer.weights.folders import write_checkpoint
from explorer.weights.gguf_codes import GROUP

DEFAULT_DRAFT = ASSETS / "draft"


class DraftHead:
    """The base model's LM head over the draft's vocabulary: hidden [n, H] → [n, V], −∞ elsewhere.

    `token_map` int64 [V_d], or None for the whole vocabulary, with the base model's head itself.
    """

    def __init__(self, base: LMHead, token_map: Tensor | None) -> None:
        self.inner = base if token_map is None else base.part(token_map)
        self.token_map, self.vocab_size = token_map, base.weight.shape[0]

    @property
    def weight(self) -> Tensor:
        """Its rows [V_d, H], in the model's dtype."""
        return self.inner.weight

    @property
    def stored(self) -> Tensor:
        """The matrix in the form that the product uses."""
        return self.inner.stored

    def __call__(self, hidden: Tensor) -> Tensor:
        """Logits [n, V] float32 of hidden [n, H]."""
        logits = self.inner(hidden)
        if self.token_map is None:
            return logits
        whole = logits.new_full((logits.shape[0], self.vocab_size), -torch.inf)
        whole[:, self.token_map] = logits
        return whole


@dataclass
class DraftModel(LanguageModel):
    """A draft that runs like any base model: `forward`, `logits`, `KVCache.of(draft)`."""

    draft_config: DraftConfig | None = None

    @property
    def vocab_size(self) -> int:
        """Size of the base model's vocabulary, which the logits cover."""
        return self.lm_head.vocab_size


def load_draft(folder: str | Path, base: LanguageModel) -> DraftModel:
    """The draft in `folder`, on the base model's device, around its embedding and LM head.

    Raises ExplorerError: no draft there, a broken one, or one made for another base model.
    """
    folder = Path(folder).expanduser()
    config = read_config(folder)
    ours = {"hidden_size": base.hidden_size, "vocab_size": base.vocab_size}
    for name, value in ours.items():
        if getattr(config, name) != value:
            made_for = f" (made for {config.base_model})" if config.base_model else ""
            raise ExplorerError(
                f"The draft model in {folder}{made_for} expects a {name} of "
                f"{getattr(config, name)}, but this base model has {value}: choose a draft that "
                "was trained for this base model."
            )
    tensors = read_tensors(folder)
    token_map = token_map_of(tensors, config, folder)
    network = empty_network(base.network, config.num_layers)
    _fill(network, tensors, folder)
    return draft_model(network, base, config, token_map)


def draft_model(
    network: nn.Module, base: LanguageModel, config: DraftConfig, token_map: Tensor | None
) -> DraftModel:
    """The draft around its network, on the base model's LM head.

    It uses the base model's attention, which the start-up check has tested.
    """
    network.set_attn_implementation(base.config._attn_implementation)
    settle_rotary(network)
    model = DraftModel(
        network=network,
        tokenizer=base.tokenizer,
        lm_head=DraftHead(base.lm_head, token_map),
        name=f"{config.num_layers}-layer draft of {base.name}",
        backend=config.storage,
        device=base.device,
        context_length=base.context_length,
        eos_ids=base.eos_ids,
        draft_config=config,
        whole_network=base.whole_network,
    )
    model.compiled = llama_pass(network)
    model.static = base.static.like(model) if base.static else None
    return model


def empty_network(base: nn.Module, num_layers: int) -> nn.Module:
    """A network like the base's with its first `num_layers` layers, whose weights are empty.

    The embedding and the LM head are the base's own modules. Raises ExplorerError if the base has
    fewer layers, or does not keep them in a list as the usual architectures do.
    """
    config = copy.deepcopy(base.config)
    text = config.get_text_config()
    if not hasattr(base.base_model, "layers") or num_layers > text.num_hidden_layers:
        raise ExplorerError(
            f"No draft of {num_layers} layers can be made of this base model, which has "
            f"{text.num_hidden_layers}: ask for fewer, or choose a model with a list of layers."
        )
    text.num_hidden_layers = num_layers
    if getattr(text, "layer_types", None):
        text.layer_types = text.layer_types[:num_layers]
    vars(config).pop("quantization_config", None)
    with init_empty_weights(include_buffers=False):
        network = AutoModelForCausalLM.from_config(
            config, dtype=base.dtype, attn_implementation="eager", trust_remote_code=False
        )
    network.set_input_embeddings(base.get_input_embeddings())
    network.set_output_embeddings(base.get_output_embeddings())
    device = base.get_input_embeddings().weight.device
    for name, buffer in list(network.named_buffers()):
        parent, _, field = name.rpartition(".")
        network.get_submodule(parent).register_buffer(field, buffer.to(device), persistent=False)
    return network.eval()


def own_modules(network: nn.Module) -> list[tuple[str, nn.Module]]:
    """The draft's own modules with weights, by their name inside the network."""
    embedding = network.get_input_embeddings()
    return [
        (name, module)
        for name, module in network.base_model.named_modules()
        if module is not embedding
        and (is_linear(module) or list(module.named_parameters(recurse=False)))
    ]


def first_layers(base: nn.Module, num_layers: int) -> nn.Module:
    """An untrained draft network: the base's first layers and final norm, copied to float32."""
    network = empty_network(base, num_layers)
    for name, module in own_modules(network):
        source = base.base_model.get_submodule(name)
        for field, _ in list(module.named_parameters(recurse=False)):
            linear = field == "weight" and is_linear(source)
            values = dense_weight(source) if linear else getattr(source, field).detach().float()
            setattr(module, field, nn.Parameter(values.clone()))
    return network


def save_draft(
    network: nn.Module, config: DraftConfig, token_map: Tensor | None, folder: str | Path
) -> Path:
    """Write a float32 draft network in the storage that `config` names. Raises ExplorerError."""
    tensors = {}
    for name, module in own_modules(network):
        for field, values in module.named_parameters(recurse=False):
            four_bit = config.storage == "int4" and field == "weight" and packs(module)
            values = values.detach().cpu()
            stored = four_bit_blocks(values) if four_bit else values.to(torch.bfloat16)
            tensors[f"{name}.{field}"] = stored.contiguous()
    if token_map is not None:
        tensors["token_map"] = token_map.int().cpu()
    return write_checkpoint(folder, tensors, config.model_dump(mode="json"), "The draft model")


def packs(module: nn.Module) -> bool:
    """Whether a layer's weight can be stored in 4-bit blocks: linear, of whole groups."""
    return isinstance(module, nn.Linear) and module.in_features % GROUP == 0


def _fill(network: nn.Module, tensors: dict[str, Tensor], folder: Path) -> None:
    """Give the empty network its stored weights, in the base model's dtype and on its device."""
    embedding = network.get_input_embeddings().weight
    for name, module in own_modules(network):
        for field, empty in list(module.named_parameters(recurse=False)):
            key = f"{name}.{field}"
            stored = tensors.get(key)
            if stored is None:
                raise broken(folder, key)
            if stored.dtype == torch.uint8 and packs(module) and field == "weight":
                stored = _blocks_checked(stored, empty, folder, key)
            elif stored.shape != empty.shape or not torch.isfinite(stored).all():
                raise broken(folder, key)
            if stored.dtype != torch.uint8:
                values = stored.to(embedding.device, embedding.dtype)
                setattr(module, field, nn.Parameter(values, requires_grad=False))
                continue
            network.base_model.set_submodule(
                name, _four_bit_linear(stored, tensors.get(f"{name}.bias"), embedding)
            )
            break  # the bias went with it
    network.requires_grad_(False)


def _blocks_checked(blocks: Tensor, empty: Tensor, folder: Path, key: str) -> Tensor:
    if blocks.shape != four_bit_blocks(torch.zeros(empty.shape)).shape:
        raise broken(folder, key)
    if not torch.isfinite(dequantised(blocks)).all():
        raise broken(folder, key)
    return blocks


def _four_bit_linear(blocks: Tensor, bias: Tensor | None, like: Tensor) -> nn.Module:
    """The blocks as a layer of the int4 backend, or dense where that cannot run."""
    codes = codes_of_blocks(blocks)
    packed = packed_linear(codes, bias, like.device) if like.dtype == torch.bfloat16 else None
    return packed or dense_linear(
        dequantised(blocks).to(like), None if bias is None else bias.to(like)
    )
