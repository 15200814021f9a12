"""Two tiers of memory: which page lives in the fast one."""
