"""Pictures of every state of the step explorer, to be looked at.

`python -m tests.browser.screenshots FOLDER [NAME …]` writes FOLDER/NAME.png.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import sync_playwright

from explorer.records.schema import Trace
from tests.browser.conftest import ALONE, serving_assets
from tests.browser.steps import Steps
from tests.ui.fake_run import CHAIN, HUGE, SMALL, SPARSE, WIDE
from tests.ui.fakes import FakeLab
from tools.browsers import chromium

DESK, PHONE = (1440, 900), (390, 844)


@dataclass(frozen=True)
class State:
    """What is on view. `shapes` None: no run; `keys` are pressed at step 8."""

    shapes: tuple[int, ...] | None
    keys: tuple[str, ...] = ()
    size: tuple[int, int] = DESK
    dark: bool = False


STATES = {
    "empty": State(None),
    "small": State((SMALL, CHAIN)),
    "small-dark": State((SMALL, CHAIN), dark=True),
    "wide": State((WIDE,)),
    "sparse": State((SPARSE,)),
    "sparse-dark-table": State((SPARSE,), ("t",), dark=True),
    "huge": State((HUGE,)),
    "additive-prefix": State((SMALL,), ("m", "x")),
    "phone": State((SMALL, CHAIN), size=PHONE),
    "phone-dark": State((SPARSE,), size=PHONE, dark=True),
    "phone-presenter": State((SMALL,), ("p", *["ArrowRight"] * 3), PHONE),
    **{
        f"presenter-{stage}": State((SMALL,), ("p", *["ArrowRight"] * stage), dark=stage % 2 == 1)
        for stage in range(6)
    },
}


def main(folder: str, *names: str) -> None:
    """Take the named pictures, or all of them."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    traces: dict[tuple[int, ...], Trace] = {}
    with sync_playwright() as playwright, serving_assets() as assets:
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=chromium(), args=arguments)
        for name in names or STATES:
            state = STATES[name]
            page = browser.new_page(
                viewport=dict(zip(("width", "height"), state.size, strict=True)),
                color_scheme="dark" if state.dark else "light",
                reduced_motion="reduce",
            )
            page.goto(f"{assets}/{ALONE}")
            steps = Steps(page).wait("explorer.store")
            if state.shapes is not None:
                if state.shapes not in traces:
                    traces[state.shapes] = FakeLab(shapes=state.shapes).trace()
                steps.open(traces[state.shapes]).show(8).press(*state.keys)
            path = Path(folder) / f"{name}.png"
            page.screenshot(path=path, full_page=state.size == PHONE)
            print(path)
            page.close()
        browser.close()


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(*sys.argv[1:])
