"""What a run means: formulas, measured speed, cost, the best tree, and the losslessness audit."""
