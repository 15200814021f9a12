"""Which page size, TLB and memory suit a program and its storage: ``clockhand translate``."""
