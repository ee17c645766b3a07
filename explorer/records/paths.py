"""Paths of the product's own files."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]  # the folder that holds `explorer` and `assets`
ASSETS = ROOT / "assets"
