"""Medusa and Hydra heads, and the checkpoint formats that they are read from and written in."""
