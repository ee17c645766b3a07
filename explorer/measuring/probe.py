"""The texts for testing a model's passes, and the resulting logits.

A probe is a prefix, a tree with siblings after it, and the pass after the tree's accepted path.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from transformers import PreTrainedModel

from explorer.decoding.cache import AnyCache, KVCache
from explorer.decoding.tree import Tree, causal_mask
from explorer.models.base import LanguageModel

PREFIX = 20  # tokens before the tree
MAX_PREFIX = 600  # tokens: a window that is wider is crossed in the miniature only
TREE = Tree(((0,), (1,), (2,), (0, 0), (1, 0), (1, 1), (1, 1, 0)))  # siblings and cousins
LEAVES = [row for row, children in enumerate(TREE.children) if not children]
ACCEPTED = TREE.path_to(TREE.n - 1)  # rows 0, 2, 6, 7: not side by side
BEHIND = 2  # tokens of the pass after the tree


@dataclass(frozen=True)
class Probe:
    """A prefix [p], a tree's tokens [n], and the tokens [b] of the pass after its path."""

    prefix: torch.Tensor
    tokens: torch.Tensor
    behind: torch.Tensor

    @classmethod
    def of(cls, model: LanguageModel, length: int | None = None) -> Probe:
        """A probe that the model has room for, with a prefix of `length` tokens, or long enough."""
        if length is None:
            window = getattr(model.config, "sliding_window", None)
            length = PREFIX
            if isinstance(window, int) and window <= MAX_PREFIX:
                length = max(PREFIX, window + 4)
        length = max(1, min(length, model.context_length - len(ACCEPTED) - BEHIND))
        few = max(1, model.vocab_size - 8)  # the first ids are special ones: some mean padding
        ids = torch.arange(length + TREE.n + BEHIND) * 37 % few + min(5, model.vocab_size - few)
        return cls(*ids.split([length, TREE.n, BEHIND]))

    @property
    def texts(self) -> list[torch.Tensor]:
        """The prefix with the path to every leaf, then with the accepted path and what follows."""
        paths = [torch.cat([self.prefix, self.tokens[TREE.path_to(leaf)]]) for leaf in LEAVES]
        return [*paths, torch.cat([self.prefix, self.tokens[ACCEPTED], self.behind])]


def difference(ours: torch.Tensor, theirs: torch.Tensor) -> torch.Tensor:
    """The largest difference of rows of logits [m, V]: [m], relative to the spread of `theirs`."""
    return (ours - theirs).abs().amax(-1) / max((theirs.max() - theirs.min()).item(), 1e-3)


@torch.inference_mode()
def own_logits(network: PreTrainedModel, probe: Probe) -> torch.Tensor:
    """[m, V]: the network's own logits: of the prefix, of every node, and after the path."""
    texts = probe.texts
    longest = max(map(len, texts))
    padded = torch.stack([F.pad(text, (0, longest - len(text)), value=5) for text in texts])
    logits = network(input_ids=padded.to(network.device)).logits.float()
    start = len(probe.prefix)
    through = [
        next(t for t, leaf in enumerate(LEAVES) if TREE.mask[leaf, i]) for i in range(TREE.n)
    ]
    nodes = [logits[t, start + depth] for t, depth in zip(through, TREE.depths, strict=True)]
    last = logits[-1, len(texts[-1]) - BEHIND : len(texts[-1])]
    return torch.cat([logits[0, :start], torch.stack(nodes), last])


@torch.inference_mode()
def our_logits(model: LanguageModel, probe: Probe) -> torch.Tensor:
    """The same rows from our own passes: the prefix in two, the tree, and two rows after it."""
    cache, half = KVCache.of(model), len(probe.prefix) // 2
    parts = [causal_pass(model, part, cache) for part in probe.prefix.tensor_split([half])]
    parts.append(model.forward(probe.tokens, TREE.depths, TREE.mask, cache))
    cache.commit(ACCEPTED)
    parts.append(causal_pass(model, probe.behind, cache))
    return model.logits(torch.cat(parts))


def causal_pass(model: LanguageModel, tokens: torch.Tensor, cache: AnyCache) -> torch.Tensor:
    """Hidden states [n, H] of tokens [n] after the cache's text; commits them."""
    n = len(tokens)
    if n == 0:
        return torch.empty(0, model.hidden_size)
    hidden = model.forward(tokens, torch.arange(n), causal_mask(n), cache)
    cache.commit(range(n))
    return hidden
