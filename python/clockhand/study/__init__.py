"""Shared by all studies; each study has a folder of its own in :mod:`clockhand.studies`."""
