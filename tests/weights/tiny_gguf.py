"""Writes tiny GGUF files with random weights and a byte-level vocabulary."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import gguf
import numpy as np

from explorer.models.chat import BYTE_OF_CHARACTER

HIDDEN, INNER, LAYERS, HEADS, KV_HEADS = 64, 96, 2, 4, 2
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
VOCAB = [*SPECIAL, *sorted(BYTE_OF_CHARACTER, key=BYTE_OF_CHARACTER.get), "he", "ll"]
VOCAB += [f"<|pad{i}|>" for i in range(-len(VOCAB) % 32)]
TYPES = gguf.GGMLQuantizationType


def write_gguf(
    path: Path,
    arch: str = "llama",
    kind: TYPES = TYPES.Q4_1,
    leave_out: str = "",
    extra: Callable[[gguf.GGUFWriter], None] | None = None,
    vocab: list[str] = VOCAB,
    kinds: dict[str, TYPES] | None = None,
    tokenizer: str = "gpt2",
) -> Path:
    """A file whose matrices are `kind`, the embedding Q8_0, and the norms float32.

    `extra` adds settings or tensors of its own; `kinds` names other types by a matrix's name.
    """
    writer = gguf.GGUFWriter(path, arch)
    writer.add_context_length(128)
    writer.add_embedding_length(HIDDEN)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(10000.0)
    writer.add_vocab_size(len(VOCAB))
    writer.add_tokenizer_model(tokenizer)
    writer.add_token_list(vocab)
    if tokenizer == "gpt2":
        writer.add_token_merges(["h e", "l l"])
    control = gguf.TokenType.CONTROL
    writer.add_token_types(
        [control if token.startswith(("<|", "<｜")) else gguf.TokenType.NORMAL for token in vocab]
    )
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    if extra is not None:
        extra(writer)
    for name, values, usual in _tensors(arch, kind):
        type_ = (kinds or {}).get(name.split(".")[-2], usual)
        if name != leave_out:
            data = gguf.quants.quantize(values, type_)
            writer.add_tensor(name, data, raw_dtype=type_)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _tensors(arch: str, kind: TYPES):
    rng = np.random.default_rng(0)

    def matrix(rows: int, columns: int) -> np.ndarray:
        return (rng.standard_normal((rows, columns)) * 0.2).astype(np.float32)

    def vector(size: int, mean: float = 0.0) -> np.ndarray:
        return (mean + rng.standard_normal(size) * 0.1).astype(np.float32)

    size = HIDDEN // HEADS
    yield "token_embd.weight", matrix(len(VOCAB), HIDDEN), TYPES.Q8_0
    yield "output_norm.weight", vector(HIDDEN, 1.0), TYPES.F32
    for i in range(LAYERS):
        block = f"blk.{i}."
        yield block + "attn_norm.weight", vector(HIDDEN, 1.0), TYPES.F32
        yield block + "ffn_norm.weight", vector(HIDDEN, 1.0), TYPES.F32
        for name, rows, columns in (
            ("attn_q", HEADS * size, HIDDEN),
            ("attn_k", KV_HEADS * size, HIDDEN),
            ("attn_v", KV_HEADS * size, HIDDEN),
            ("attn_output", HIDDEN, HIDDEN),
            ("ffn_gate", INNER, HIDDEN),
            ("ffn_up", INNER, HIDDEN),
            ("ffn_down", HIDDEN, INNER),
        ):
            yield f"{block}{name}.weight", matrix(rows, columns), kind
            if arch == "qwen2" and name in ("attn_q", "attn_k", "attn_v"):
                yield f"{block}{name}.bias", vector(rows), TYPES.F32
