"""Hydra heads: Medusa heads that also see the tokens on their path (Ankner et al. 2024).

A Medusa head guesses token t+1+k without knowing the tokens between. Head k of Hydra also reads
their embeddings e, from the root t+1 to t+k, so its guesses fit what they follow:

    x_k = h + SiLU(W_k·h + Σ_{j ≤ k} P_kj·e_{t+j} + b_k)

with further residual blocks as in Medusa. The price is that drafting goes depth by depth.
"""

from __future__ import annotations

import functools
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from explorer.heads.heads import MedusaHeads
from explorer.heads.heads_config import HeadsConfig
from explorer.kernels.nf4 import FourBitProjection
from explorer.records.errors import ExplorerError


class HydraHeads(MedusaHeads):
    """MedusaHeads with `path_weight` [K(K+1)/2, H, H]: P_11, P_21, P_22, P_31, …

    The embeddings [V, H] are the base model's, kept by reference (`use_embeddings`) and read at
    unit root mean square, since models differ in how large theirs are.
    """

    sees_path = True

    def __init__(self, config: HeadsConfig) -> None:
        """Zero blocks and an empty projection; see `create`."""
        if config.num_blocks == 0:
            raise ExplorerError("Hydra heads see their path in a residual block: use one or more.")
        super().__init__(config)
        K, H = config.num_heads, config.hidden_size
        self.path_weight = nn.Parameter(torch.zeros(K * (K + 1) // 2, H, H))
        self.register_buffer("embeddings", None, persistent=False)
        self.embedding_scale = 1.0

    def use_embeddings(self, weight: Tensor) -> None:
        """Use the base model's input embeddings [V, H], kept by reference."""
        expected = (self.config.vocab_size, self.config.hidden_size)
        if tuple(weight.shape) != expected:
            raise ExplorerError(
                f"These heads need embeddings of shape {list(expected)}, but this base model has "
                f"{list(weight.shape)}: load heads that were made for this base model."
            )
        self.embeddings = weight.detach()
        # A sample is enough, and the same rows always give the same scale.
        sample = self.embeddings[:: max(1, len(weight) // 4096)].float()
        self.embedding_scale = 1.0 / max(sample.square().mean().sqrt().item(), 1e-6)

    def _known_embeddings(self) -> Tensor:
        if self.embeddings is None:
            raise ExplorerError(
                "Hydra heads read the base model's embeddings: load them together with it."
            )
        return self.embeddings

    def _embed(self, tokens: Tensor) -> Tensor:
        table = self._known_embeddings()
        return table[tokens.to(table.device)].to(self.block_weight) * self.embedding_scale

    def _path_weights(self, head: int) -> Tensor:
        """P of head `head` (0-based) as one matrix [H, (head + 1)·H]."""
        first = head * (head + 1) // 2
        return self.path_weight[first : first + head + 1].transpose(0, 1).flatten(1)

    def features(self, hidden: Tensor, path: Tensor | None = None) -> Tensor:
        """[m, H] and the tokens that follow, int64 [m, K] -> [K, m, H]; see MedusaHeads."""
        assert path is not None
        hidden, seen = hidden.to(self.block_weight), self._embed(path)  # [m, K, H]
        inputs = [
            self._residual(k, hidden, seen[:, : k + 1])
            + F.silu(
                F.linear(hidden, self.block_weight[k, 0], self.block_bias[k, 0])
                + F.linear(seen[:, : k + 1].flatten(1), self._path_weights(k))
            )
            for k in range(self.config.num_heads)
        ]
        return self._blocks(torch.stack(inputs), first=1)

    def _terms(self) -> list[list[Tensor]]:
        """The matrix of the hidden state, then those of the embeddings on the path."""
        first = [k * (k + 1) // 2 for k in range(self.config.num_heads + 1)]
        return [
            [self.block_weight[k, 0], *self.path_weight[first[k] : first[k + 1]]]
            for k in range(self.config.num_heads)
        ]

    def _compiled_best(
        self, hidden: Tensor, top: int, path: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        assert path is not None
        found = [
            self._compiled_next(hidden, path[:, : k + 1], top) for k in range(self.config.num_heads)
        ]
        ids, probs = zip(*found, strict=True)
        return torch.stack(ids, dim=1), torch.stack(probs, dim=1)

    def _compiled_next(self, hidden: Tensor, path: Tensor, top: int) -> tuple[Tensor, Tensor]:
        """[m, top] of the head that follows paths [m, d]; hidden [m or 1, H]."""
        k, table = path.shape[1] - 1, self._known_embeddings()
        if table.dtype != torch.bfloat16 or table.device.type != "cpu":
            table, path = table[path].flatten(0, 1).bfloat16().cpu(), _numbered(path)
        assert self.compiled is not None
        ids, probs = self.compiled.best(
            range(k, k + 1), hidden, top, path, table, self.embedding_scale
        )
        return ids[:, 0], probs[:, 0]

    def _residual(self, head: int, hidden: Tensor, seen: Tensor) -> Tensor:
        """What the first block is added to: hidden [m, H], after embeddings [m, head + 1, H]."""
        return hidden

    def _logits_of(self, head: int, x: Tensor) -> Tensor:
        """Logits of one head: [m, H] -> [m, V']."""
        if self.config.kind != "own":
            return self.project_rows(x)
        if isinstance(self.packed, FourBitProjection):
            return self.packed.of_head(head, x)
        return F.linear(x, self.rows[head])

    @torch.inference_mode()
    def propose_next(self, hidden: Tensor, path: Tensor, top: int) -> tuple[Tensor, Tensor]:
        """Guesses of head d for the token after each of m paths of equal length d.

        hidden [1, H] of the position before the root; path int64 [m, d], the root first. Returns
        full-vocabulary ids int64 and probabilities float32, [m, top] each, best first.
        """
        if self.compiled is not None:
            return self._compiled_next(hidden, path, min(top, self.config.output_size))
        k, hidden = path.shape[1] - 1, hidden.to(self.block_weight)
        first = F.linear(hidden, self.block_weight[k, 0], self.block_bias[k, 0])  # [1, H]
        seen = self._embed(path)
        first = first + _along(seen, self.path_weight[k * (k + 1) // 2 :])
        x = self._residual(k, hidden, seen) + F.silu(first)
        for b in range(1, self.config.num_blocks):
            x = x + F.silu(F.linear(x, self.block_weight[k, b], self.block_bias[k, b]))
        return self.best(self._logits_of(k, x), top)


class MixingHydraHeads(HydraHeads):
    """Hydra heads as their authors build them (zankner/Hydra, `HydraMLP` with grounded heads).

    The first block is added to a matrix product of its own instead of the hidden state,

        x_k = R_k·h + Σ_{j ≤ k} Q_kj·e_{t+j} + r_k + SiLU(W_k·h + Σ_{j ≤ k} P_kj·e_{t+j} + b_k)

    embeddings are read as they are, and projections have a bias: residual_weight [K, H, H],
    residual_path [K(K+1)/2, H, H], residual_bias [K, H], projection_bias [K, V].
    """

    def __init__(self, config: HeadsConfig) -> None:
        """Zero blocks and an empty projection."""
        super().__init__(config)
        K, H = config.num_heads, config.hidden_size
        self.residual_weight = nn.Parameter(torch.zeros(K, H, H))
        self.residual_path = nn.Parameter(torch.zeros(K * (K + 1) // 2, H, H))
        self.residual_bias = nn.Parameter(torch.zeros(K, H))
        self.projection_bias = nn.Parameter(torch.zeros(K, config.output_size))

    def use_embeddings(self, weight: Tensor) -> None:
        """Use the base model's input embeddings [V, H] as they are, kept by reference."""
        super().use_embeddings(weight)
        self.embedding_scale = 1.0

    def _residual(self, head: int, hidden: Tensor, seen: Tensor) -> Tensor:
        mixed = F.linear(hidden, self.residual_weight[head], self.residual_bias[head])
        return mixed + _along(seen, self.residual_path[head * (head + 1) // 2 :])

    def _logits_of(self, head: int, x: Tensor) -> Tensor:
        return super()._logits_of(head, x) + self.projection_bias[head]

    def project(self, features: Tensor) -> Tensor:
        """Logits from the output of `features`: [K, m, H] -> [K, m, V]."""
        return super().project(features) + self.projection_bias[:, None]


def _along(seen: Tensor, weights: Tensor) -> Tensor:
    """Σ_j W_j·e_j over a path: embeddings [m, d, H] and weights [≥ d, H, H] -> [m, H].

    One by one: side by side in one matrix, the weights would have to be copied every time.
    """
    products = (F.linear(token, weights[j]) for j, token in enumerate(seen.unbind(1)))
    return functools.reduce(torch.add, products)


def _numbered(path: Tensor) -> Tensor:
    """Paths [m, d] as the rows of a table that holds their tokens one after the other."""
    return torch.arange(path.numel()).view(path.shape)


ARCHITECTURES: dict[str, type[MedusaHeads]] = {"medusa": MedusaHeads, "hydra": HydraHeads}


def new_heads(config: HeadsConfig) -> MedusaHeads:
    """Heads of the configured architecture, not initialised yet."""
    if config.mixing:
        return MixingHydraHeads(config)
    return ARCHITECTURES[config.architecture](config)


def first_heads(heads: MedusaHeads, number: int, place: Path) -> MedusaHeads:
    """The first `number` heads, which share the memory of the given ones.

    `place` names the checkpoint in errors. Raises ExplorerError where it holds fewer.
    """
    K = heads.config.num_heads
    if not 1 <= number <= K:
        raise ExplorerError(
            f"The checkpoint {place} holds {K} heads, and {number} were asked for: ask for 1 to "
            f"{K}, or leave the number out."
        )
    fewer = heads.config.model_copy(update={"num_heads": number})
    with torch.device("meta"):
        first = new_heads(fewer)
    state = heads.state_dict()
    for name, tensor in first.state_dict().items():
        if tensor.shape != state[name].shape:
            state[name] = state[name][: len(tensor)]
    first.load_state_dict(state, assign=True)
    first.token_map = heads.token_map
    return first


def copy_heads(heads: MedusaHeads, num_blocks: int = 0) -> MedusaHeads:
    """A copy with at least `num_blocks` residual blocks; added blocks change nothing.

    Hydra heads need their embeddings again.
    """
    missing = max(0, num_blocks - heads.config.num_blocks)
    config = heads.config.model_copy(update={"num_blocks": heads.config.num_blocks + missing})
    copy, state = new_heads(config).to(heads.block_weight.device), heads.state_dict()
    state["block_weight"] = F.pad(state["block_weight"], (0, 0, 0, 0, 0, missing))
    state["block_bias"] = F.pad(state["block_bias"], (0, 0, 0, missing))
    if config.kind == "shared":
        copy.use_lm_head(heads.rows)
    copy.load_state_dict(state)
    return copy
