"""How programs use their pages: ``clockhand locality``."""
