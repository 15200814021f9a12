"""Reproductions of published evaluations: every claim with our number and a verdict.

A reproduction runs an experiment file through :mod:`clockhand.sweep`, judges the paper's claims by
rules that are stated beside them, and gives tables that a report shows.
"""

from clockhand.reproduce.cflru import CflruReproduction, reproduce_cflru
from clockhand.reproduce.cflru_experiment import read_cflru_experiment
from clockhand.reproduce.claims import Claim, Verdict
from clockhand.reproduce.clock_dnv import (
    ClockDnvReproduction,
    read_clock_dnv_experiment,
    reproduce_clock_dnv,
)
from clockhand.reproduce.craw import Reproduction, reproduce_craw
from clockhand.reproduce.scm import ScmReproduction, reproduce_scm
from clockhand.reproduce.scm_experiment import read_scm_experiment

__all__ = [
    "CflruReproduction",
    "Claim",
    "ClockDnvReproduction",
    "Reproduction",
    "ScmReproduction",
    "Verdict",
    "read_cflru_experiment",
    "read_clock_dnv_experiment",
    "read_scm_experiment",
    "reproduce_cflru",
    "reproduce_clock_dnv",
    "reproduce_craw",
    "reproduce_scm",
]
