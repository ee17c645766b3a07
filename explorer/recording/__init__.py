"""From a step's tensors to its trace record."""
