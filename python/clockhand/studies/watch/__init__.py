"""How policies and write buffers decide, step by step: ``watch``."""
