"""Write buffers on flash drives: ``clockhand ssd``."""
