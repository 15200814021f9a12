"""File caches: whether keeping blocks in memory pays on a device, and under which admission."""
