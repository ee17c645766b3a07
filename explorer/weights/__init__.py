"""Where weights come from, their formats on disk, and the models known by name."""
