"""Pure functions from trace records to what a notebook shows: Plotly figures, tables, a card.

Nothing is imported here: the page uses `numbers` and needs no Plotly.
"""
