"""A local page to turn the knobs of a trace or of a dataset: a notebook that marimo runs as an app.

* ``app.py`` is the notebook: knobs, figures and a player.
* ``sources.py`` is what it asks: rows that are computed as they are needed, or those of a dataset.
* ``serving.py`` starts marimo on the loopback interface, with a token.
"""
