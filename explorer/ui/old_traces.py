"""Traces for the browser, which reads today's format alone and computes no figures."""

from __future__ import annotations

import base64
import json
import threading

from explorer.records.errors import ExplorerError
from explorer.records.files import parse_trace

MAX_BYTES = 4 * 2**20  # of a file; recorded runs have some tens of kilobytes
MAX_JSON = 16 * 2**20  # bytes in it: all others wait meanwhile
_ONE_AT_A_TIME = threading.Lock()


def upgraded(file: object) -> str:
    """The trace in a file (base64) as JSON of today's format, or {"problem": a sentence}."""
    try:
        if not isinstance(file, str) or len(file) > MAX_BYTES * 4 / 3:
            raise ExplorerError(
                f"A trace of an earlier format may have {MAX_BYTES // 2**20} MB here: open it in "
                "Python and save it again."
            )
        with _ONE_AT_A_TIME:
            from explorer.analysis.speedup import with_figures  # takes a second: the page is first

            trace = parse_trace(base64.b64decode(file, validate=True), most=MAX_JSON)
            return with_figures(trace).model_dump_json()
    except ValueError:  # b64decode's: binascii.Error is one, and text that is not ASCII another
        return json.dumps({"problem": "The file did not arrive whole: open it again."})
    except ExplorerError as error:
        return json.dumps({"problem": str(error)})
