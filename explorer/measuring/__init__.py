"""Runs the model to measure it: audit, bench, calibration, cost curve, overhead, perplexity."""
