"""Pure functions from trace records to notebook output: Plotly figures, tables, a card.

Nothing is imported here: the page uses `numbers` and needs no Plotly.
"""
