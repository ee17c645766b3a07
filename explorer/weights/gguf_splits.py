"""How a GGUF's tokenizer prepares text for its merges: the split, and the space in front.

'tokenizer.ggml.pre' names how a byte-level vocabulary splits text.
transformers knows some of the names and splits as GPT-2 does under all others. Merges were learned
on pieces of the model's own split, so another split gives other tokens, without a word. The names
are llama.cpp's; the splits are those of the models' own tokenizer.json.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tokenizers import Regex, Tokenizer, normalizers, pre_tokenizers
from transformers.integrations.gguf.gguf_tokenizer_mapping import GGUF_PRE_TOKENIZER_SPLITS

from explorer.records.errors import ExplorerError

KEY = "tokenizer.ggml.pre"
AS_GPT2 = {
    "default", "gpt-2", "phi-2", "jina-es", "jina-de", "jina-v1-en", "jina-v2-es", "jina-v2-de",
    "jina-v2-code", "roberta-bpe", "gigachat", "a.x-4.0", "mellum", "modern-bert", "mpt", "olmo",
    "jais", "trillion", "granite-docling", "exaone4",
}  # fmt: skip
SINGLE_DIGITS = {
    "smollm", "starcoder", "refact", "command-r", "codeshell", "exaone", "minerva-7b", "mellum2",
}  # fmt: skip
SAME_AS = {
    "stablelm2": "qwen2", "hunyuan": "qwen2", "solar-open": "qwen2", "grok-2": "qwen2",
    "glm4": "llama-bpe", "chatglm-bpe": "llama-bpe",
}  # fmt: skip
_WORDS = r" ?[^(\s|.,!?…。，、।۔،)]+"
_DEEPSEEK_3 = (
    r"\p{N}{1,3}",
    r"[一-龥぀-ゟ゠-ヿ]+",
    r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
    r"| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
)
SPLITS: dict[str, tuple[str, ...]] = {
    "deepseek-coder": (r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", r"[一-龥ࠀ-一가-퟿]+", r"\p{N}"),
    "deepseek-v3": _DEEPSEEK_3,
    "hunyuan-dense": _DEEPSEEK_3,
    "poro-chat": (_WORDS,),
    "bloom": (_WORDS,),
    "gpt3-finnish": (_WORDS,),
    "viking": (_WORDS, r"\p{N}"),
    "seed-coder": (
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}\r\n]+"
        r"|\s*[\r\n]+|\s+(?!\S)|\s+",
    ),
}
# Words of the vocabulary stay whole, and a text begins with the beginning-of-text token.
WHOLE_WORDS = {
    "llama3", "llama-v3", "llama-bpe", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2",
    "jina-v5-nano", "tekken",
}  # fmt: skip


def set_split(folder: Path, metadata: dict[str, Any], name: str) -> None:
    """Let the tokenizer saved in `folder` split as the file `name` says. Raises ExplorerError."""
    pre, model = metadata.get(KEY), metadata.get("tokenizer.ggml.model")
    if model == "llama" and not metadata["general.architecture"].startswith("gemma"):
        _set_prefix_space(folder, metadata.get("tokenizer.ggml.add_space_prefix", True))
    if model != "gpt2" or pre is None:
        return
    splits = _splits(pre)
    path = folder / "tokenizer.json"
    if splits is not None:
        tokenizer = Tokenizer.from_file(str(path))
        tokenizer.pre_tokenizer = splits
        tokenizer.save(str(path))
    elif pre not in AS_GPT2 | GGUF_PRE_TOKENIZER_SPLITS.keys():
        raise ExplorerError(
            f"{name} sets '{KEY}' to {pre!s:.40}, a way to split text that is not supported, and "
            "with another one every prompt would be misread: choose another file of the model, or "
            "its safetensors."
        )
    if pre in WHOLE_WORDS:
        content = json.loads(path.read_text(encoding="utf-8"))
        content["model"]["ignore_merges"] = True
        path.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")


def unsaid_settings(metadata: dict[str, Any]) -> dict[str, bool]:
    """Settings of the tokenizer that follow from the name of its split, where the file has none."""
    said = "tokenizer.ggml.add_bos_token" in metadata
    return {} if said or metadata.get(KEY) not in WHOLE_WORDS else {"add_bos_token": True}


def _splits(pre: str) -> pre_tokenizers.PreTokenizer | None:
    """The steps of a split that transformers does not know; None for the others."""
    if pre in SINGLE_DIGITS:
        digits = pre_tokenizers.Digits(individual_digits=True)
        return pre_tokenizers.Sequence([digits, _bytes(use_regex=True)])
    if pre == "falcon":
        marks = pre_tokenizers.Punctuation(behavior="contiguous")
        hundreds = pre_tokenizers.Split(Regex("[0-9][0-9][0-9]"), behavior="isolated")
        return pre_tokenizers.Sequence([marks, _bytes(use_regex=True), hundreds])
    patterns = SPLITS.get(pre)
    if pre in SAME_AS:
        patterns = (GGUF_PRE_TOKENIZER_SPLITS[SAME_AS[pre]],)
    if patterns is None:
        return None
    steps = [pre_tokenizers.Split(Regex(each), behavior="isolated") for each in patterns]
    return pre_tokenizers.Sequence([*steps, _bytes(use_regex=False)])


def _set_prefix_space(folder: Path, wanted: bool) -> None:
    """SentencePiece's dummy space before every piece of text, also one that begins with a space."""
    path = str(folder / "tokenizer.json")
    tokenizer = Tokenizer.from_file(path)
    steps: list[normalizers.Normalizer] = [normalizers.Prepend("▁")] if wanted else []
    tokenizer.normalizer = normalizers.Sequence([*steps, normalizers.Replace(" ", "▁")])
    tokenizer.pre_tokenizer = None  # pyright: ignore[reportAttributeAccessIssue] - its stub lacks None
    tokenizer.save(path)


def _bytes(use_regex: bool) -> pre_tokenizers.PreTokenizer:
    return pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=use_regex)
