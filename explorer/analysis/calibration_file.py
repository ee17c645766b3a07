"""What is known about this machine and these heads: cost curve, accuracies, and the best tree.

A calibration belongs to one model, one set of heads, one backend and one machine; it is kept as a
JSON file named after them and used by `auto` trees. Measuring one is `analysis/calibration.py`,
and how its tree is chosen `analysis/tree_choice.py`.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import torch
from pydantic import BaseModel as Schema
from pydantic import ConfigDict, Field

from explorer.analysis.cost_curve import CostCurve, mean_cost
from explorer.analysis.prices import node_prices
from explorer.decoding.tree import MAX_NODES, DynamicTree, Tree, make_tree
from explorer.records.errors import ExplorerError
from explorer.weights.sources import cache_folder

if TYPE_CHECKING:
    from explorer.heads.heads import MedusaHeads
    from explorer.models.base import BaseModel

FOLDER = "calibration"
SAMPLE = 1 << 16  # elements of a tensor that its hash looks at
FILE_LIMIT = 16 << 20  # bytes

# Where the accuracies come from: texts decoded for it, a table that ships with the heads, or, for
# heads that nobody has measured, a guess.
Basis = Literal["prompts", "rank table", "guess"]


class Key(Schema):
    """What a calibration is valid for."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: str
    heads: str  # hash
    backend: str
    device: str

    @property
    def file_name(self) -> str:
        """A file name that differs wherever the key does."""
        digest = hashlib.sha256(self.model_dump_json().encode()).hexdigest()[:12]
        slug = re.sub(r"[^A-Za-z0-9.]+", "-", f"{self.backend}-{self.device}")[:80].strip("-")
        return f"{slug}-{digest}.json"


class ContextTree(Schema):
    """The best tree at one context length; without nodes where no tree pays there."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    context_length: int = Field(ge=0)
    tree: list[Annotated[list[int], Field(min_length=1)]] = Field(max_length=MAX_NODES)
    expected_tokens_per_step: float
    expected_speedup: float


class Calibration(Schema):
    """Costs, accuracies and the best tree. Every time is in milliseconds.

    `head_accuracy[k][r]`: how often rank r of head k+1 is right. `cost_curve`: C(n) at each
    context length. `tree`: rank paths of the best tree. `expected_tokens_per_step` replays the
    texts with that tree; `joint_tokens_per_step` is 1 + Σ joint path counts and
    `product_tokens_per_step` the paper's product of accuracies, shown beside it. `auto_…`: what
    `auto` is expected to reach instead, where texts were decoded that tell
    (analysis/auto_replay.py).
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    format_version: Literal[3] = 3
    created: str
    key: Key
    basis: Basis
    positions: int = Field(ge=0, description="text positions that the accuracies rest on")
    cost_curve: list[CostCurve] = Field(min_length=1)
    heads_ms: float = Field(ge=0, description="one forward pass of all heads")
    by_depth: bool = Field(False, description="heads draft one after the other, as deep as needed")
    rest_ms: float = Field(ge=0, description="draft, accept and commit of a step")
    head_accuracy: list[list[float]]
    tree: list[Annotated[list[int], Field(min_length=1)]] = Field(max_length=MAX_NODES)
    expected_tokens_per_step: float
    joint_tokens_per_step: float
    product_tokens_per_step: float
    expected_speedup: float
    by_context: list[ContextTree] = Field(default_factory=list)
    auto_tokens_per_step: float | None = None
    auto_nodes: float | None = None
    auto_promised: float | None = None
    auto_speedup: float | None = None

    @property
    def candidate_tree(self) -> Tree:
        """The tree that is best on the average of the measured context lengths."""
        return make_tree(self.tree, "fixed")

    @property
    def fixed_trees(self) -> dict[int, Tree]:
        """The best fixed tree at each context length that was measured."""
        return {c.context_length: make_tree(c.tree, "fixed") for c in self.by_context}

    @property
    def auto_trees(self) -> dict[int, DynamicTree]:
        """At each measured context length, the tree whose nodes have to pay in every step."""
        curves = {curve.context_length: curve for curve in self.cost_curve}
        head_ms = self.heads_ms / len(self.head_accuracy) if self.by_depth else 0.0
        trees = {}
        for best in self.by_context:
            curve = curves[best.context_length]
            prices = node_prices(curve, best.expected_speedup, head_ms)
            trees[best.context_length] = DynamicTree(len(prices.rows) - 1, prices)
        return trees

    @property
    def pays(self) -> bool:
        """Whether the best tree is expected to beat plain decoding."""
        return self.expected_speedup > 1

    @property
    def sentence(self) -> str:
        """The outcome in words, with its numbers; all of them are expectations."""
        nodes = len(self.tree)
        facts = (
            f"{nodes} node{'s' if nodes > 1 else ''}, {self.expected_tokens_per_step:.2f} tokens "
            f"per step at {mean_cost(self.cost_curve)(nodes + 1):.2f} times a one-row pass"
        )
        basis = ", from guessed accuracies" if self.basis == "guess" else ""
        if self.pays:
            return (
                f"Speculation should pay here: {self.expected_speedup:.2f}× plain decoding is "
                f"expected of the best fixed tree ({facts}{basis}){self._auto}."
            )
        return (
            "Speculation with a fixed tree does not pay here: even the best is expected to run at "
            f"{self.expected_speedup:.2f}× plain decoding ({facts}{basis}){self._auto}. Auto "
            "drafts only where the heads are sure enough."
        )

    @property
    def _auto(self) -> str:
        if self.auto_speedup is None:
            return ""
        return (
            f"; of auto {self.auto_speedup:.2f}× ({self.auto_nodes:.1f} nodes on average, "
            f"{self.auto_tokens_per_step:.2f} tokens per step)"
        )


def key_of(model: BaseModel, heads: MedusaHeads) -> Key:
    """The key of this model and these heads on this machine."""
    return Key(
        model=model.name,
        heads=heads_hash(heads),
        backend=model.backend,
        device=device_description(model.device),
    )


def heads_hash(heads: MedusaHeads) -> str:
    """A hash of the heads' shapes and of up to 65,536 evenly spaced elements of each tensor.

    All but the projection, which may be packed (`MedusaHeads.pack`): trained together, the other
    tensors tell heads apart.
    """
    digest = hashlib.sha256()
    for name, tensor in sorted(heads.state_dict().items()):
        if name.startswith(("projection", "packed")):
            continue
        flat = tensor.detach().flatten()
        sample = flat[:: max(1, flat.numel() // SAMPLE)].cpu().contiguous()
        digest.update(f"{name} {tensor.dtype} {list(tensor.shape)}".encode())
        digest.update(sample.view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def device_description(device: torch.device) -> str:
    """The machine as far as it matters to speed: GPU name, or CPU name and number of threads."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return f"{_cpu_name()}, {torch.get_num_threads()} threads"


def _cpu_name() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        text = ""
    found = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    return found[1].strip() if found else platform.processor() or platform.machine()


def save_calibration(calibration: Calibration, folder: Path | None = None) -> Path:
    """Write it to `folder`, the product's cache folder by default. Raises ExplorerError."""
    folder = folder or cache_folder() / FOLDER
    path = folder / calibration.key.file_name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(f".{os.getpid()}.part")
        part.write_text(calibration.model_dump_json(indent=1) + "\n", encoding="utf-8")
        os.replace(part, path)  # whole or not at all
    except OSError as error:
        raise ExplorerError(
            f"The calibration cannot be saved in {folder} ({error.strerror or error}): free some "
            "disk space or make the folder writable."
        ) from error
    return path


def load_calibration(key: Key, folders: Sequence[Path] = ()) -> Calibration | None:
    """The calibration for `key`, looked for in the cache folder and then in `folders`, or None.

    A damaged file, or one of another version, counts as none: it is measured again.
    """
    for folder in (cache_folder() / FOLDER, *folders):
        path = folder / key.file_name
        try:
            if path.stat().st_size > FILE_LIMIT:
                continue
            calibration = Calibration.model_validate(json.loads(path.read_bytes()))
            calibration.candidate_tree  # noqa: B018 - a tree that is none is damage, too
            usable = calibration.auto_trees and calibration.fixed_trees
        except (
            OSError, ValueError, LookupError, ArithmeticError, RecursionError, ExplorerError,
        ):  # fmt: skip
            continue
        if usable and calibration.key == key:
            return calibration
    return None
