"""Decoding, to be read from top to bottom: tree, cache, sampling, acceptance, loop, and a short
file per method; then the race and the recorder."""
