"""How policies go about it, step by step: ``watch``."""
