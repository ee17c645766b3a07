"""Starts Medusa Explorer: `python app.py --help` lists the options."""

import os
import sys

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")

from explorer.ui.start import main

if __name__ == "__main__":
    sys.exit(main())
