"""The same heads on a server beyond this process: files for it, and a client that watches it."""
