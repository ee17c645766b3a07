"""The special tokens of a GGUF file: those that begin, pad and end a text."""

from __future__ import annotations

from typing import Any

from transformers import PretrainedConfig

from explorer.records.errors import ExplorerError

PREFIX = "tokenizer.ggml."
END_OF_TURN = ("eos_token_id", "eot_token_id", "eom_token_id")
OTHERS = ("bos_token_id", "unknown_token_id", "padding_token_id")
# Tokens that end a turn where a chat template writes them, although no setting names them.
WRITTEN_ENDS = (
    "<|im_end|>",
    "<|eot_id|>",
    "<end_of_turn>",
    "<|end|>",
    "<|end_of_turn|>",
    "<|eot|>",
)
CONTROL = 3  # llama.cpp's type of such tokens
SENTENCEPIECE = {"bos_token_id": 1, "eos_token_id": 2}  # llama.cpp's, for files that name none


def require_known_ids(metadata: dict[str, Any], name: str) -> None:
    """Raise ExplorerError for a special token that the file's list of tokens does not have."""
    tokens = metadata.get(f"{PREFIX}tokens")
    if not isinstance(tokens, list) or not tokens:
        raise ExplorerError(
            f"{name} has no list of tokens ('{PREFIX}tokens'): choose another file of the model."
        )
    for key in (*OTHERS, *END_OF_TURN):
        token = metadata.get(f"{PREFIX}{key}")
        if token is not None and not (isinstance(token, int) and 0 <= token < len(tokens)):
            raise ExplorerError(
                f"{name} sets '{PREFIX}{key}' to {token!s:.40} and has only {len(tokens)} tokens: "
                "download it again, or choose another file."
            )


def complete_ends(metadata: dict[str, Any], config: PretrainedConfig) -> None:
    """Give `config` the file's special tokens, and all that end a turn."""
    usual = SENTENCEPIECE if metadata.get(f"{PREFIX}model") == "llama" else {}
    for key, name in (("bos_token_id", "bos_token_id"), ("padding_token_id", "pad_token_id")):
        setattr(config, name, metadata.get(f"{PREFIX}{key}", usual.get(key)))
    named = [metadata.get(f"{PREFIX}{key}") for key in END_OF_TURN]
    own = metadata.get(f"{PREFIX}eos_token_id", usual.get("eos_token_id"))
    listed = config.eos_token_id if isinstance(config.eos_token_id, list) else [own]
    ids = dict.fromkeys(i for i in (*named, *listed, *_written_ends(metadata)) if i is not None)
    config.eos_token_id = list(ids) if len(ids) > 1 else next(iter(ids), None)


def _written_ends(metadata: dict[str, Any]) -> list[int]:
    template = metadata.get("tokenizer.chat_template") or ""
    tokens: list[str] = metadata[f"{PREFIX}tokens"]
    types = metadata.get(f"{PREFIX}token_type")
    found = [tokens.index(end) for end in WRITTEN_ENDS if end in template and end in tokens]
    return [i for i in found if not isinstance(types, list) or types[i] == CONTROL]
