"""What a forward pass computes with: attention, 4-bit matrices, the LM head."""

import os

from explorer.weights.cache import cache_folder

# Kernels are compiled once and kept with the other fetched things: the folder of the code may be
# read-only, and numba refuses to cache where it cannot write.
os.environ.setdefault("NUMBA_CACHE_DIR", str(cache_folder() / "numba"))
