"""The studies: one folder for each question, and none imports another.

Each has ``run`` (options, the engine, rows and facts), ``findings`` (what rows say in sentences),
``charts`` and ``report``, which read rows and never the engine.
"""
