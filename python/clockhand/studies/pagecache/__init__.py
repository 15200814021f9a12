"""One page cache for processes and files: ``clockhand pagecache``."""
