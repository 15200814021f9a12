"""Real programs under the policies: ``clockhand run``."""
