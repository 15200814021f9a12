"""Page policies on traces: ``clockhand simulate`` and ``recommend``."""
