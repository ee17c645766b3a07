"""Medusa heads: small networks that read one hidden state and guess several tokens ahead.

From the hidden state of position t the LM head predicts token t+1 and Medusa head k (1-based)
predicts token t+1+k (Medusa paper, arXiv 2401.10774, section 2.1.1):

    head_k(h) = softmax( W2 · (h + SiLU(W1_k·h + b_k)) )

with the residual block repeated `num_blocks` times. The three kinds differ in W2 only:

    own          each head has a projection to the whole vocabulary (the paper's heads)
    shared       every head uses the base model's LM head, which the checkpoint does not repeat
    draft_vocab  every head uses one trained projection to the most frequent tokens (FR-Spec)

Hydra heads, which also see the tokens on their path, are in heads/hydra.py.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from explorer.heads.compiled_heads import CompiledHeads, fits
from explorer.heads.heads_config import HeadsConfig
from explorer.heads.layouts import Origin
from explorer.heads.recorded import RecordedDrafts
from explorer.kernels.int4 import Int4Linear, supports
from explorer.kernels.linears import codes_of_blocks, four_bit_blocks
from explorer.models.storages import storages, tensors_of
from explorer.records.errors import ExplorerError
from explorer.weights.gguf_codes import GROUP


class MedusaHeads(nn.Module):
    """All K heads of a model, stacked so that each operation runs once over every head.

    Parameters (B blocks, H hidden size, V' tokens a head chooses between):
    block_weight [K, B, H, H] and block_bias [K, B, H]; projection [V', H], one for all heads, or
    [K, V', H] for the kind own. token_map is int64 [V'] or None (draft index -> full token id).
    """

    token_map: Tensor | None
    projection: Tensor | None
    origin: Origin | None = None  # of heads that were loaded
    lighter = ""  # how they were made lighter (heads/lighter.py), if they were
    sees_path = False  # whether a head also reads the tokens before its target

    def __init__(self, config: HeadsConfig) -> None:
        """Zero blocks (the residual identity) and an empty projection; see `create`."""
        super().__init__()
        self.config = config
        K, B, H, V = config.num_heads, config.num_blocks, config.hidden_size, config.output_size
        self.block_weight = nn.Parameter(torch.zeros(K, B, H, H))
        self.block_bias = nn.Parameter(torch.zeros(K, B, H))
        if config.kind == "shared":
            # The base model owns it: neither trained nor saved here, set by `use_lm_head`.
            self.register_buffer("projection", None, persistent=False)
        else:
            shape = (K, V, H) if config.kind == "own" else (V, H)
            self.projection = nn.Parameter(torch.empty(shape))
        token_map = torch.arange(V) if config.kind == "draft_vocab" else None
        self.register_buffer("token_map", token_map)
        # Replaces the projection, see `pack` and heads/lighter.py.
        self.packed: Int4Linear | nn.Module | None = None
        self.compiled: CompiledHeads | None = None  # replaces everything in `propose`
        self.recorded: RecordedDrafts | None = None  # the same, where passes are recorded

    @classmethod
    def create(
        cls, config: HeadsConfig, lm_head_weight: Tensor, token_map: Tensor | None = None
    ) -> MedusaHeads:
        """Untrained heads, which repeat the LM head's own prediction.

        W1 = 0 makes the residual block the identity, since SiLU(0) = 0, and W2 starts as the LM
        head's rows (paper, section 2.1.1). lm_head_weight is [V, H]; token_map int64 [V_d].
        """
        heads = cls(config)
        heads._check_lm_head(lm_head_weight)
        with torch.no_grad():
            if config.kind == "shared":
                heads.use_lm_head(lm_head_weight)
            elif config.kind == "own":
                heads.rows.copy_(lm_head_weight.expand_as(heads.rows))
            else:
                heads.set_token_map(token_map)
                heads.rows.copy_(lm_head_weight[heads.ids_of_drafts.to(lm_head_weight.device)])
        return heads

    @property
    def rows(self) -> Tensor:
        """The projection. Raises ExplorerError where the base model's LM head is still to come."""
        if self.projection is None:
            raise ExplorerError(
                "These heads share the base model's LM head: load them together with their base "
                "model."
            )
        return self.projection

    @property
    def ids_of_drafts(self) -> Tensor:
        """The token map of heads of the kind draft_vocab."""
        assert self.token_map is not None
        return self.token_map

    def set_token_map(self, token_map: Tensor | None) -> None:
        """Set the int64 [V_d] full token ids, one for each draft index."""
        size, vocab = self.config.draft_vocab_size, self.config.vocab_size
        if token_map is None or tuple(token_map.shape) != (size,):
            raise ExplorerError(
                f"Heads with a draft vocabulary of {size} tokens need a token map of that length: "
                "export the heads again with their token map."
            )
        token_map = token_map.to(torch.long)
        if token_map.min() < 0 or token_map.max() >= vocab or token_map.unique().numel() != size:
            raise ExplorerError(
                f"The heads' token map must hold distinct token ids below {vocab}: "
                "export the heads again for this model."
            )
        self.token_map = token_map.to(self.block_weight.device)

    def change_vocabulary(self, token_map: Tensor, lm_head_weight: Tensor) -> None:
        """Change the draft vocabulary to the tokens int64 [V_d] of `token_map`.

        Tokens that the heads had keep their rows, the others start from the LM head's [V, H].
        """
        self._check_lm_head(lm_head_weight)
        places = torch.full((self.config.vocab_size,), -1)
        places[self.ids_of_drafts.cpu()] = torch.arange(len(self.ids_of_drafts))
        places = places[token_map]
        known = places >= 0
        rows = lm_head_weight[token_map.to(lm_head_weight.device)].to(self.rows)
        rows[known] = self.rows[places[known]].detach()
        self.config = self.config.model_copy(update={"draft_vocab_size": len(token_map)})
        self.set_token_map(token_map)
        self.projection = nn.Parameter(rows)

    def use_lm_head(self, weight: Tensor) -> None:
        """For the kind shared: project with the base model's LM head [V, H], kept by reference."""
        self._check_lm_head(weight)
        self.projection = weight.detach().to(self.block_weight.device, self.block_weight.dtype)

    def _check_lm_head(self, weight: Tensor) -> None:
        expected = (self.config.vocab_size, self.config.hidden_size)
        if tuple(weight.shape) != expected:
            raise ExplorerError(
                f"These heads need an LM head of shape {list(expected)}, but this base model has "
                f"{list(weight.shape)}: load heads that were made for this base model."
            )

    def features(self, hidden: Tensor, path: Tensor | None = None) -> Tensor:
        """The input of the projections: [m, H] -> [K, m, H], after the residual blocks.

        path int64 [m, K] are the tokens that follow each position, the root first: head k of the
        kinds that see them gets the first k. These heads do not use it.
        """
        x = hidden.to(self.block_weight)
        return self._blocks(x.expand(self.config.num_heads, *x.shape))

    def _blocks(self, x: Tensor, first: int = 0) -> Tensor:
        """The residual blocks from `first` on: [K, m, H] -> [K, m, H]."""
        for b in range(first, self.config.num_blocks):
            weight, bias = self.block_weight[:, b], self.block_bias[:, b, None]
            x = x + F.silu(torch.baddbmm(bias, x, weight.transpose(1, 2)))
        return x

    def project(self, features: Tensor) -> Tensor:
        """Logits from the output of `features`: [K, m, H] -> [K, m, V']."""
        if self.config.kind == "own":
            if self.packed is not None:
                return self.packed(features)
            return torch.bmm(features, self.rows.transpose(1, 2))
        # One product over K·m rows: the projection is read from memory once for all heads.
        K, m, H = features.shape
        logits = self.project_rows(features.reshape(K * m, H))
        return logits.view(K, m, self.config.output_size)

    def project_rows(self, features: Tensor) -> Tensor:
        """Logits from a projection that is the same for every head: [r, H] -> [r, V']."""
        if self.packed is not None:
            return self.packed(features)
        return F.linear(features, self.rows)

    def pack(self) -> None:
        """Switch to drafting on this machine's integer kernels, in 4 bits.

        Reading the weights is most of a draft's time, and packed weights are read several times
        as fast. Rounding may change a guess, which costs a little acceptance, never correctness.
        Packed heads draft; they can be neither trained nor saved.
        """
        self._make_block_major()
        if self.packed is not None or self.config.kind != "draft_vocab":
            return
        if self.rows.dtype != torch.bfloat16:
            return
        device = self.rows.device
        if device.type == "cpu" and fits(self.config.hidden_size, self.config.num_blocks):
            self.compiled = CompiledHeads(
                self._terms(),
                self.block_weight[:, 1:],
                self.block_bias,
                self.rows,
                self.ids_of_drafts,
            )
        elif self.config.hidden_size % GROUP == 0:
            codes = codes_of_blocks(four_bit_blocks(self.rows))
            if supports(codes, device):
                self.packed, self.projection = Int4Linear(codes, None, device), None

    def _terms(self) -> list[list[Tensor]]:
        """Per head, the matrices [H, H] whose products the first residual block sums."""
        return [[weight] for weight in self.block_weight[:, 0]]

    def _make_block_major(self) -> None:
        """Store a block's weights of all heads side by side, so that baddbmm needs no copy.

        In training, the blocks of one head are contiguous; a product over all heads would then
        copy its weights first, which takes five times as long as the product.
        """
        weight = self.block_weight.detach().transpose(0, 1).contiguous().transpose(0, 1)
        self.block_weight = nn.Parameter(weight, requires_grad=False)

    def forward(self, hidden: Tensor, path: Tensor | None = None) -> Tensor:
        """Logits of every head: hidden [m, H] -> [K, m, V'], in the heads' dtype."""
        return self.project(self.features(hidden, path))

    @torch.inference_mode()
    def draft_logits(self, hidden: Tensor) -> Tensor:
        """What `propose` takes the best of, for heads that see no path: [m, H] -> float32
        [K, m, V'], by the same arithmetic."""
        if self.compiled is not None:
            return self.compiled.logits(hidden)
        return self(hidden).float()

    @torch.inference_mode()
    def propose(
        self, hidden: Tensor, top: int, path: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """The `top` likeliest tokens of every head, best first.

        hidden [m, H] -> full-vocabulary ids int64 [m, K, top] and their probabilities float32
        [m, K, top]; `path` as in `features`.
        """
        if self.compiled is not None:
            return self._compiled_best(hidden, min(top, self.config.output_size), path)
        if self.recorded is not None and len(hidden) == 1 and not self.sees_path:
            return self.recorded(hidden, top)
        return self.guess(hidden, top, path)

    def guess(self, hidden: Tensor, top: int, path: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """`propose`, one operation after the other."""
        ids, probs = self.best(self(hidden, path), top)
        return ids.transpose(0, 1).contiguous(), probs.transpose(0, 1).contiguous()

    def _compiled_best(
        self, hidden: Tensor, top: int, path: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """`propose` by the compiled heads, which look at the hidden states alone."""
        assert self.compiled is not None
        return self.compiled.best(range(self.config.num_heads), hidden, top)

    def best(self, logits: Tensor, top: int) -> tuple[Tensor, Tensor]:
        """The `top` best of logits [..., V']: full-vocabulary ids and probabilities [..., top].

        A probability is the softmax over the head's own vocabulary, from float32 logits minus
        their maximum, so that nothing overflows.
        """
        top = min(top, self.config.output_size)
        logits = logits.float()
        best, indices = logits.topk(top, dim=-1)
        highest = best[..., :1]
        # exp of the kept logits only; the others enter just the sum.
        total = (logits - highest).exp_().sum(-1, keepdim=True)
        probs = (best - highest).exp_() / total
        return indices if self.token_map is None else self.token_map[indices], probs

    def step_bytes(self) -> int:
        """Bytes that a draft reads: every matrix as stored, once, the projection included.

        Of a token map, as of Hydra's embeddings, it reads a few rows, which do not count.
        """
        if self.compiled is not None:
            return self.compiled.num_bytes
        looked_up = {id(tensor) for tensor in (self.token_map, getattr(self, "embeddings", None))}
        read = (tensor for tensor in tensors_of(self) if id(tensor) not in looked_up)
        return sum(storages(read).values())

    def projection_bytes(self) -> int:
        """Bytes of the projection as stored; 0 where it is compiled together with the heads."""
        if self.packed is not None:
            return sum(storages(tensors_of(self.packed)).values())
        return 0 if self.projection is None or self.compiled else self.projection.nbytes
