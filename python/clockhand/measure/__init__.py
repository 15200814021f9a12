"""Profiles of this machine: what its storage and its memory cost, measured."""
