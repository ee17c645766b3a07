"""A model of a given shape with seeded random weights in NF4, and random heads: no downloads."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from accelerate import init_empty_weights
from torch import nn
from transformers import AutoModelForCausalLM, LlamaConfig, PreTrainedModel

from explorer.heads.heads import MedusaHeads
from explorer.heads.heads_config import HeadsConfig
from explorer.heads.lighter import lighten
from explorer.heads.recorded import RecordedDrafts
from explorer.kernels.graphs import Recordings
from explorer.kernels.nf4 import COMPUTE, nf4_linear
from explorer.measuring.selfcheck import check_model, check_static_passes
from explorer.models.base import LanguageModel
from explorer.models.loader import choose_attention, make_lm_head
from explorer.models.static_pass import StaticPass

SPREAD = 0.02  # standard deviation of the weights, as models of this kind begin with
NUM_HEADS = 5


@dataclass(frozen=True)
class Shape:
    """Sizes of a Llama-like model; `light_vocabulary`: tokens that truncated heads keep."""

    name: str
    layers: int
    hidden: int
    inner: int
    heads: int
    kv_heads: int
    vocabulary: int
    context: int
    light_vocabulary: int
    tree: str

    @property
    def config(self) -> LlamaConfig:
        """As transformers has it."""
        return LlamaConfig(
            vocab_size=self.vocabulary,
            hidden_size=self.hidden,
            intermediate_size=self.inner,
            num_hidden_layers=self.layers,
            num_attention_heads=self.heads,
            num_key_value_heads=self.kv_heads,
            max_position_embeddings=self.context,
            eos_token_id=None,
        )


LLAMA_7B = Shape(
    "Llama 7B, random weights", 32, 4096, 11008, 32, 32, 32_000, 4096, 8192, "mc_sim_7b_63"
)
TINY = Shape("tiny Llama, random weights", 2, 128, 256, 4, 2, 512, 512, 128, "cartesian:3,2,1,1,1")


class NumberedTokens:
    """A tokenizer without text: a token is written as its number, a prompt is numbers."""

    chat_template = None

    def __init__(self, vocabulary: int) -> None:
        self._vocabulary = vocabulary

    def __call__(self, text: str) -> dict[str, list[int]]:
        """Token ids of a prompt like "5 17 3"."""
        return {"input_ids": [int(word) % self._vocabulary for word in text.split()]}

    def get_added_vocab(self) -> dict[str, int]:
        """None."""
        return {}

    def convert_ids_to_tokens(self, token_id: int) -> str:
        """The number."""
        return f"{token_id} "


def made_up_model(shape: Shape, device: torch.device, seed: int = 0) -> LanguageModel:
    """The model, checked as any other at start-up. Its static passes run on a CPU, too."""
    network = _random_network(shape, device, seed)
    choose_attention(network, device)
    model = LanguageModel(
        network=network,
        tokenizer=NumberedTokens(shape.vocabulary),  # pyright: ignore[reportArgumentType]
        lm_head=make_lm_head(network),
        name=shape.name,
        backend="nf4",
        device=device,
        context_length=shape.context,
        eos_ids=frozenset(),
    )
    check_model(model)
    if device.type == "cpu":
        check_static_passes(model, StaticPass(model, Recordings(None, "there is no GPU here")))
    return model


def _random_network(shape: Shape, device: torch.device, seed: int) -> PreTrainedModel:
    with init_empty_weights(include_buffers=False):
        network = AutoModelForCausalLM.from_config(shape.config, dtype=COMPUTE)
    generator = torch.Generator(device).manual_seed(seed)

    def random(*size: int) -> torch.Tensor:
        made = torch.empty(size, dtype=COMPUTE, device=device)
        return made.normal_(0, SPREAD, generator=generator)

    output = network.get_output_embeddings()
    for name, module in list(network.named_modules()):
        if isinstance(module, nn.Linear) and module is not output:
            weight = random(module.out_features, module.in_features)
            network.set_submodule(name, nf4_linear(weight, None, device))
        elif isinstance(module, nn.Linear | nn.Embedding):
            module.weight = nn.Parameter(random(*module.weight.shape), requires_grad=False)
        elif "weight" in module._parameters:  # a norm
            ones = torch.ones(module.weight.shape, dtype=COMPUTE, device=device)
            module.weight = nn.Parameter(ones, requires_grad=False)
    return network.to(device).requires_grad_(False).eval()


def made_up_heads(model: LanguageModel, shape: Shape, kind: str, seed: int = 1) -> MedusaHeads:
    """Random heads, each with its own projection: "own", "truncated" or "nf4"."""
    config = HeadsConfig(
        kind="own",
        num_heads=NUM_HEADS,
        num_blocks=1,
        hidden_size=shape.hidden,
        vocab_size=shape.vocabulary,
    )
    with torch.device("meta"):
        heads = MedusaHeads(config)
    heads = heads.to(COMPUTE).to_empty(device=model.device).requires_grad_(False).eval()
    generator = torch.Generator(model.device).manual_seed(seed)
    for parameter in heads.parameters():
        parameter.normal_(0, SPREAD, generator=generator)
    heads.token_map = None
    pieces = [f"token {number}" for number in range(shape.vocabulary)]
    if kind == "truncated":
        lighten(heads, pieces, vocabulary=shape.light_vocabulary)
    elif kind == "nf4":
        lighten(heads, pieces, nf4=True)
    heads.pack()
    if model.static is not None:
        heads.recorded = RecordedDrafts(heads, model.static.recordings)
    return heads
