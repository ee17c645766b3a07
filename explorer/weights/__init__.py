"""Where weights come from, how they lie on disk, and the models that are known by name."""
