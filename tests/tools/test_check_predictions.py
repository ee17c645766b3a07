"""The check of predictions on a tiny model: what a replay predicts is what decoding then does."""

import pytest

from tests.tiny_lab import tiny_lab
from tools.check_predictions import check

PROMPTS = [{"id": str(i), "category": "chat", "prompt": text} for i, text in enumerate(("a", "bc"))]


def test_each_tree_is_predicted_from_one_record_and_then_measured():
    lines = check(tiny_lab(), PROMPTS, ["chain:1", "chain:2", "best"], 60)
    assert [line["tree"] for line in lines] == ["chain:1", "chain:2", "best"]
    for line in lines:
        assert line["predicted_tokens_per_step"] == pytest.approx(
            line["measured_tokens_per_step"], rel=0.1
        )
        assert line["error"] == pytest.approx(line["predicted"] / line["measured"] - 1)
        assert line["measured"] > 0
