"""What all studies share; each study has a folder of its own in :mod:`clockhand.studies`."""
