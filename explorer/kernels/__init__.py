"""What a forward pass computes with: integer products, attention, compiled passes, the LM head.

To read in this order: isa (one instruction), dot (the loop around it), quantise, attend, team (how
threads share work), llama_call, llama_attention, llama (the pass). products, compiled and building
are the words they are written in; matrices, llama_cache, residual_heads, rows and row_figures are
what the rest of the product calls.
"""

import hashlib
import os
from pathlib import Path

from explorer.weights.cache import cache_folder

# Kernels are compiled once and kept with the other fetched things: the folder of the code may be
# read-only, and numba refuses to cache where it cannot write.
# numba looks at the file of a function, not at those whose functions it calls: so the folder is
# named after all of them.
_SOURCES = b"".join(path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py")))
DIGEST = hashlib.sha256(_SOURCES).hexdigest()[:12]
os.environ.setdefault("NUMBA_CACHE_DIR", str(cache_folder() / f"numba-{DIGEST}"))
