"""The compiled pass of a Llama-like network: which networks have one, and running it.

A network has one if every matrix of its layers runs on the integer kernels and its layers are
Llama's: RMSNorm, rotary positions that do not depend on the length, full attention, SwiGLU.
Everything else runs through transformers. Both compute the same (a test compares them); the
compiled pass keeps float32 where the network in bf16 rounds.
"""

from __future__ import annotations

import ctypes
import threading
from dataclasses import dataclass
from functools import cache

import numpy as np
import torch
from torch import Tensor, nn

from explorer.kernels.attend import SLOTS
from explorer.kernels.dot import GROUP, RECORD
from explorer.kernels.isa import instruction_set
from explorer.kernels.llama import PHASES, run_pass
from explorer.kernels.llama_cache import LlamaCache
from explorer.kernels.llama_call import LAYER, Pass
from explorer.kernels.matrices import IntegerLinear
from explorer.kernels.products import ATTENTION, PRODUCTS
from explorer.kernels.team import new_team, reset
from explorer.kernels.threads import on_all_threads, team_size

ARCHITECTURES = {"LlamaForCausalLM", "MistralForCausalLM"}
ITEMS_PER_THREAD = 4  # of attention, so that none waits long for another
FIXED_ROTARY = {"default", "linear", "llama3", "yarn"}  # factors that do not depend on the length
PROJECTIONS = {
    "query": "self_attn.q_proj",
    "key": "self_attn.k_proj",
    "value": "self_attn.v_proj",
    "output": "self_attn.o_proj",
    "gate": "mlp.gate_proj",
    "up": "mlp.up_proj",
    "down": "mlp.down_proj",
}
NORMS = {"input_norm": "input_layernorm", "mlp_norm": "post_attention_layernorm"}


def llama_pass(network: nn.Module) -> LlamaPass | None:
    """The compiled pass of this network; None if it has to run through transformers."""
    if instruction_set() is None or type(network).__name__ not in ARCHITECTURES:
        return None
    config, body = network.config, network.base_model
    size = body.layers[0].self_attn.head_dim
    rotary = getattr(body.rotary_emb, "rope_type", "default")
    fits = (
        rotary in FIXED_ROTARY
        and config.hidden_act == "silu"
        and not getattr(config, "sliding_window", None)
        and body.embed_tokens.weight.dtype == torch.bfloat16
        and size % GROUP == 0
        and all(_runs(layer) for layer in body.layers)
    )
    return LlamaPass(network) if fits else None


def _runs(layer: nn.Module) -> bool:
    """Whether all matrices of a layer run on the integer kernels, without a bias."""
    matrices = [layer.get_submodule(name) for name in PROJECTIONS.values()]
    return all(isinstance(m, IntegerLinear) and m.bias is None for m in matrices)


@dataclass
class _Room:
    """Memory for the intermediate results of passes of up to `rows` rows and `slots` slots."""

    rows: int
    slots: int
    tensors: dict[str, Tensor]


class LlamaPass:
    """Runs passes of one network. The weights are the network's own, by reference."""

    def __init__(self, network: nn.Module) -> None:
        config, body = network.config, network.base_model
        self._hidden, self._inner = config.hidden_size, config.intermediate_size
        self._heads, self._kv_heads = config.num_attention_heads, config.num_key_value_heads
        self._size = body.layers[0].self_attn.head_dim
        self._kept: list[object] = [network]  # whatever an address points into
        self._layers = np.zeros(len(body.layers), LAYER)
        for record, layer in zip(self._layers, body.layers, strict=True):
            for name, path in PROJECTIONS.items():
                matrix = layer.get_submodule(path).matrix
                self._kept.append(matrix)
                record[name], record[f"{name}_bits"] = matrix.address, matrix.bits
            for name, path in NORMS.items():
                record[name] = self._address(layer.get_submodule(path).weight.float())
        cos, sin = _rotary_tables(body, config.max_position_embeddings, self._size)
        self._team = new_team(2 + PHASES * len(self._layers))
        self._call = Pass()
        self._lock = threading.Lock()  # the memory of a pass is shared
        self._set(
            num_layers=len(self._layers),
            layers=self._layers.ctypes.data,
            lanes=instruction_set().lanes,
            hidden=self._hidden,
            heads=self._heads,
            kv_heads=self._kv_heads,
            head_size=self._size,
            inner=self._inner,
            embedding=self._address(body.embed_tokens.weight.data),
            cos=self._address(cos),
            sin=self._address(sin),
            final_norm=self._address(body.norm.weight.float()),
            team=self._team.ctypes.data,
            **PRODUCTS,
            **ATTENTION,
            epsilon=config.rms_norm_eps,
            scaling=body.layers[0].self_attn.scaling,
        )
        self._at = ctypes.addressof(self._call)
        self._room = _Room(0, 0, {})

    def cache(self) -> LlamaCache:
        """An empty cache for this network."""
        return LlamaCache(len(self._layers), self._kv_heads, self._size)

    def __call__(
        self, tokens: Tensor, offsets: Tensor, visible: Tensor, cache: LlamaCache
    ) -> Tensor:
        """Hidden states [n, H] float32; arguments as in LanguageModel.forward."""
        n, end = tokens.shape[0], cache.length + tokens.shape[0]
        cache.reserve(end)
        tokens, offsets = tokens.contiguous(), offsets.contiguous()
        visible, out = visible.contiguous(), torch.empty(n, self._hidden)
        with self._lock:
            self._make_room(n, end)
            call = self._call
            call.n, call.prefix, call.capacity = n, cache.length, cache.capacity
            call.score_slots = -(-end // SLOTS) * SLOTS
            call.together = _together(n, self._heads, self._kv_heads, team_size())
            call.tokens, call.offsets = tokens.data_ptr(), offsets.data_ptr()
            call.visible, call.out = visible.data_ptr(), out.data_ptr()
            call.keys, call.values = cache.keys.data_ptr(), cache.values.data_ptr()
            reset(self._team)
            on_all_threads(run_pass.address, self._at)
        return out

    def _make_room(self, rows: int, slots: int) -> None:
        """Allocate memory for a pass, unless the present memory is large enough."""
        if rows <= self._room.rows and slots <= self._room.slots:
            return
        rows, slots = max(rows, self._room.rows), max(slots + 255 & ~255, self._room.slots)
        width, heads = self._heads * self._size, self._heads + 2 * self._kv_heads
        attention = max(instruction_set().query_blocks) * (slots + self._size)
        scratch = max(self._hidden, 2 * GROUP * rows, attention)
        tensors = {
            "x": torch.empty(rows, self._hidden),
            "records": _bytes(rows, max(self._hidden, width) // GROUP * RECORD),
            "inner_records": _bytes(rows, self._inner // GROUP * RECORD),
            "projected": torch.empty(heads, rows, self._size),
            "scratch": torch.empty(team_size(), scratch),
        }
        self._room = _Room(rows, slots, tensors)
        self._set(scratch_size=scratch, **{k: tensor.data_ptr() for k, tensor in tensors.items()})

    def _set(self, **fields: float) -> None:
        for name, value in fields.items():
            setattr(self._call, name, value)

    def _address(self, tensor: Tensor) -> int:
        self._kept.append(tensor)
        return tensor.data_ptr()


@cache
def _together(rows: int, heads: int, kv_heads: int, threads: int) -> int:
    """How many queries of a key-value head a thread takes at a time.

    Few enough that all threads have about as much to do, many enough to read keys and values
    seldom.
    """
    sizes = sorted(instruction_set().query_blocks)
    items = {size: kv_heads * -(-rows * heads // kv_heads // size) for size in sizes}
    fitting = (size for size in sizes if items[size] <= ITEMS_PER_THREAD * threads)
    return next(fitting, sizes[-1])


def _bytes(rows: int, count: int) -> Tensor:
    return torch.empty(rows, count, dtype=torch.uint8)


def _rotary_tables(body: nn.Module, positions: int, size: int) -> tuple[Tensor, Tensor]:
    """The network's own cosines and sines, [positions, size / 2] float32."""
    every = torch.arange(positions)[None]
    tables = body.rotary_emb(torch.zeros(1), every)
    return tuple(table[0, :, : size // 2].float().contiguous() for table in tables)
