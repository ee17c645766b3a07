"""The app with a scripted model, as a process of its own: `python -m tests.ui.serve_fake PORT`."""

from __future__ import annotations

import sys
import time

from explorer.ui.limits import PRIVATE
from explorer.ui.serve import serve
from explorer.ui.worker import ModelWorker
from tests.ui.fakes import FakeLab

if __name__ == "__main__":
    port, pace = int(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) > 2 else 0.05
    text = {"text": sys.argv[3]} if len(sys.argv) > 3 else {}

    def load(progress):
        progress("Loading the weights", 0.4)
        time.sleep(1)
        return FakeLab(pace=pace, **text)

    def compare(lab, **asked):
        from tests.ui.compare_fakes import comparison  # brings torch, which few tests need

        return comparison(lab, **asked)

    serve(ModelWorker(load, compare), PRIVATE, "127.0.0.1", port).block_thread()
