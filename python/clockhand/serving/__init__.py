"""A write buffer as a real block device: the server, its metrics, and a program that uses it."""
