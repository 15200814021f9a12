"""Kept cells: how a dataset has those of each study, its files, and what datasets say together."""
