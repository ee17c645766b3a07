"""Medusa and Hydra heads, and the checkpoint formats for reading and writing them."""
