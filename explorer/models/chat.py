"""From a user's text to token ids, and from token ids to their text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from explorer.models.chat_template import rendered
from explorer.records.errors import ExplorerError
from explorer.records.piece import Piece

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


def encode_prompt(
    tokenizer: PreTrainedTokenizerBase, prompt: str, system: str | None = None, raw: bool = False
) -> list[int]:
    """Token ids of a prompt: in the chat template if there is one, else as plain text.

    `raw` skips the template, and with it the system prompt. Template marks in the prompt
    (`<|im_end|>`) stay text only if the tokenizer treats them as text.
    Raises ExplorerError for an empty prompt, and where there is no place for a system prompt.
    """
    if not prompt.strip():
        raise ExplorerError("The prompt is empty: type something for the model to answer.")
    if raw or not getattr(tokenizer, "chat_template", None):
        if system:
            why = "A raw prompt" if raw else "This model has no chat template, so its prompt"
            raise ExplorerError(
                f"{why} has no place for a system prompt: leave it empty, or begin the prompt with "
                "it."
            )
        ids = tokenizer(prompt)["input_ids"]
    else:
        ids = _templated(tokenizer, prompt, system)
    if not ids:
        raise ExplorerError("The prompt holds nothing that the tokenizer knows: use other text.")
    return ids


def _templated(tokenizer: PreTrainedTokenizerBase, prompt: str, system: str | None) -> list[int]:
    messages = [{"role": "system", "content": system}] if system else []
    messages.append({"role": "user", "content": prompt})
    try:
        text = rendered(tokenizer, messages, add_generation_prompt=True)
    except ExplorerError:
        raise
    except Exception as error:  # a template is a program and can raise anything
        remedy = "leave the system prompt empty" if system else "use the raw prompt"
        raise ExplorerError(f"The model's chat template refuses this: {remedy}.") from error
    if system and system.strip() not in text:
        raise ExplorerError(
            "The model's chat template ignores the system prompt: leave it empty, or begin the "
            "prompt with it."
        )
    return tokenizer(text, add_special_tokens=False)["input_ids"]


def require_known(ids: list[int], vocab_size: int) -> None:
    """Raise ExplorerError for token ids that the model does not have."""
    if ids and max(ids) >= vocab_size:
        raise ExplorerError(
            f"The tokenizer makes token {max(ids)} of this prompt, and the model knows only "
            f"{vocab_size} tokens: they do not belong together, so choose another copy of the "
            "model."
        )


def _byte_of_character() -> dict[str, int]:
    """The printable stand-ins that byte-level BPE writes for bytes (GPT-2's table)."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    table = {chr(byte): byte for byte in printable}
    return table | {chr(256 + i): byte for i, byte in enumerate(others)}


BYTE_OF_CHARACTER = _byte_of_character()


class TokenTexts:
    """Writes tokens: `pieces[id]` is the Piece of a token id, right for partial characters."""

    def __init__(self, tokenizer: PreTrainedTokenizerBase) -> None:
        self._tokenizer = tokenizer
        self._added = {
            token_id: str(token) for token, token_id in tokenizer.get_added_vocab().items()
        }
        backend = getattr(tokenizer, "backend_tokenizer", None)
        self._byte_level = "ByteLevel" in str(getattr(backend, "decoder", ""))
        self._known: dict[int, Piece] = {}

    def __getitem__(self, token_id: int) -> Piece:
        if token_id not in self._known:
            self._known[token_id] = self._piece(token_id)
        return self._known[token_id]

    def _piece(self, token_id: int) -> Piece:
        if token_id in self._added:
            return Piece(text=self._added[token_id])
        written = self._tokenizer.convert_ids_to_tokens(token_id)
        if written is None:  # a row of a padded vocabulary that no token uses
            return Piece(text=f"<unused {token_id}>")
        raw = self._raw_bytes(written)
        try:
            return Piece(text=raw.decode("utf-8"))
        except UnicodeDecodeError:
            return Piece(text=None, bytes=raw.hex())

    def _raw_bytes(self, written: str) -> bytes:
        if self._byte_level:
            return b"".join(
                bytes([BYTE_OF_CHARACTER[c]]) if c in BYTE_OF_CHARACTER else c.encode("utf-8")
                for c in written
            )
        if len(written) == 6 and written.startswith("<0x") and written.endswith(">"):
            return bytes([int(written[3:5], 16)])  # SentencePiece's byte fallback
        return written.replace("▁", " ").encode("utf-8")
