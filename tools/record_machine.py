"""Measures this machine for Learn's roofline: `python -m tools.record_machine` (about a minute).

Writes assets/learn/machine.json: how fast memory is read, what a pass of the default model reads,
and what its passes cost, all of one machine on one day. Run it while the machine does nothing else.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime

import explorer
from explorer.measuring.bandwidth import measure_read_bandwidth
from explorer.measuring.calibration_file import device_description
from explorer.measuring.cost_curve import measure_cost_curve
from explorer.measuring.floor import step_reads
from explorer.measuring.parameters import base_parameters
from explorer.records.paths import ASSETS

PATH = ASSETS / "learn" / "machine.json"
CONTEXT = 128
TRIES = 5  # of the bandwidth: the best counts, since a neighbour only slows a reading down


def measured() -> dict[str, object]:
    """The content of the file."""
    model = explorer.load().model
    bandwidth = max(measure_read_bandwidth(model.device) for _ in range(TRIES))
    return {
        "device": device_description(model.device),
        "model": model.name,
        "backend": model.backend,
        "parameters": base_parameters(model),
        "measured": datetime.now(UTC).date().isoformat(),
        "read_gb_per_s": round(bandwidth, 2),
        "pass_bytes": step_reads(model).bytes_at(CONTEXT),
        "curve": measure_cost_curve(model, context_length=CONTEXT).model_dump(),
    }


if __name__ == "__main__":
    PATH.write_text(json.dumps(measured(), indent=1) + "\n", encoding="utf-8")
    print(PATH.name)
