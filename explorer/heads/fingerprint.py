"""An identity of heads: a hash of their weights."""

from __future__ import annotations

import hashlib

import torch

from explorer.heads.heads import MedusaHeads

SAMPLE = 1 << 16  # elements of a tensor that enter its hash


def heads_hash(heads: MedusaHeads) -> str:
    """A hash of the heads' shapes and of up to 65,536 evenly spaced elements of each tensor.

    All but the projection, which may be packed (`MedusaHeads.pack`): trained together, the other
    tensors are enough to distinguish heads.
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
