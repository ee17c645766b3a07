"""Which browser the tests and the notebook's pictures are made with."""

from __future__ import annotations

import os
import shutil

PLACES = ("/usr/bin/chromium", "chromium", "chromium-browser", "google-chrome")


def chromium() -> str | None:
    """CHROMIUM, else a browser of the system, else (None) Playwright's own."""
    for place in (os.environ.get("CHROMIUM"), *PLACES):
        if place and (found := shutil.which(place)):
            return found
    return None
