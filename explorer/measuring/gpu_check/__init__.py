"""The check of a GPU: a model of a real one's shape, with random weights, measured all over."""
