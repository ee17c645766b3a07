"""The data model of a trace, its events, files and text. Plain data: no tensors, no torch."""
