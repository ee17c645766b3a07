"""Plain data: settings, trace records with their events, files and texts, prompts, errors.

Nothing here imports another package of the product, torch or Plotly.
"""
