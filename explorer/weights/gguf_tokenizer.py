"""A tokenizer converted from a GGUF file, checked against the file's own list of tokens.

transformers spells every token of a byte-level vocabulary in the byte alphabet, also a control
token such as `<｜User｜>`, which is then not found in a text; and a beginning or end of text that
it does not find is added after the vocabulary, where the model has no row.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from transformers import AutoTokenizer, PreTrainedTokenizerBase

from explorer.records.errors import ExplorerError

WHOLE = {3: True, 4: False}  # CONTROL and USER_DEFINED: found whole in a text; special or not
TOKENIZER, SETTINGS = "tokenizer.json", "tokenizer_config.json"


def repair_tokenizer(folder: Path, tokens: list[str], types: list[int], name: str) -> None:
    """Make the tokenizer saved in `folder` give every token of the file `name` its own id.

    tokens are the file's, by id; types are llama.cpp's, as long or empty. Raises ExplorerError
    where that cannot be done.
    """
    whole = {i: kind for i, kind in enumerate(types[: len(tokens)]) if kind in WHOLE}
    if _first_fault(_read(folder), tokens, whole) is not None:
        _rewrite(folder, tokens, whole)
    fault = _first_fault(_read(folder), tokens, whole)
    if fault is not None:
        raise ExplorerError(
            f"The tokenizer of {name} could not be converted: {fault}; choose another file of the "
            "model, or its safetensors."
        )


def _read(folder: Path) -> PreTrainedTokenizerBase:
    return AutoTokenizer.from_pretrained(folder, trust_remote_code=False)


def _first_fault(
    tokenizer: PreTrainedTokenizerBase, tokens: list[str], whole: dict[int, int]
) -> str | None:
    highest = max(tokenizer.get_vocab().values(), default=0)
    if highest >= len(tokens):
        written = tokenizer.convert_ids_to_tokens(highest)
        return f"it gives '{written:.60}' the id {highest}, and the file has {len(tokens)} tokens"
    # transformers declares a __getattr__ that may return anything
    added = tokenizer.get_added_vocab()  # pyright: ignore[reportCallIssue, reportOptionalCall]
    for i in whole:
        if added.get(tokens[i]) != i:
            return f"it does not know '{tokens[i]:.60}' as token {i}"
    return None


def _rewrite(folder: Path, tokens: list[str], whole: dict[int, int]) -> None:
    """Spell whole tokens as the file does, and drop tokens beyond its vocabulary."""
    path = folder / TOKENIZER
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    vocab = content["model"].get("vocab")
    if isinstance(vocab, dict):
        spelled = {i: token for token, i in vocab.items()}
        spelled |= {i: tokens[i] for i in whole}
        content["model"]["vocab"] = {token: i for i, token in sorted(spelled.items())}
    added = {e["id"]: e for e in content["added_tokens"] if e["id"] < len(tokens)}
    for i, kind in whole.items():
        plain = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
        added[i] = {"id": i, "content": tokens[i], **plain, "special": WHOLE[kind]}
    content["added_tokens"] = [added[i] for i in sorted(added)]
    path.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
    _rewrite_settings(folder / SETTINGS, tokens)


def _rewrite_settings(path: Path, tokens: list[str]) -> None:
    """Drop tokens that the file does not have: some classes add such as `<mask>` by default."""
    settings, count, known = json.loads(path.read_text(encoding="utf-8")), len(tokens), set(tokens)
    for key, value in settings.items():
        if key.endswith("_token") and isinstance(value, str) and value not in known:
            settings[key] = None
    decoder = settings.get("added_tokens_decoder")
    if isinstance(decoder, dict):
        settings["added_tokens_decoder"] = {i: e for i, e in decoder.items() if int(i) < count}
    path.write_text(json.dumps(settings, ensure_ascii=False), encoding="utf-8")
