"""Reproductions of published evaluations: every claim with our number and a verdict.

A reproduction runs an experiment file through :mod:`clockhand.sweep`, judges the paper's claims by
rules that are stated beside them, and gives tables that a report shows.
"""

from clockhand.claims import Claim, Verdict
from clockhand.reproduce.craw import Reproduction, reproduce_craw

__all__ = ["Claim", "Reproduction", "Verdict", "reproduce_craw"]
