"""How policies decide, step by step: ``watch``."""
