"""The measurements that ship with the product (tools/measure_serving.py makes them)."""

from __future__ import annotations

from functools import cache

from explorer.records.paths import ASSETS
from explorer.records.serving import ServingRecord

FILE = ASSETS / "serving" / "recorded.json"


@cache
def recorded() -> ServingRecord | None:
    """None where none ship."""
    return ServingRecord.model_validate_json(FILE.read_bytes()) if FILE.is_file() else None
