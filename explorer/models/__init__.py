"""Where weights come from, the backends they run in, the heads, and checkpoint formats."""

import os

from explorer.models.sources import cache_folder

# Kernels are compiled once and kept with the other fetched things: the folder of the code may be
# read-only, and numba refuses to cache where it cannot write.
os.environ.setdefault("NUMBA_CACHE_DIR", str(cache_folder() / "numba"))
