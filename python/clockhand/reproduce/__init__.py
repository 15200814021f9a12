"""Reproductions of published evaluations: every claim with our number and a verdict.

A paper's folder in ``experiments`` has what is run (``experiment.toml``), what the paper says and
how it is judged (``claims.toml``), and what the page shows (``report.toml``).
"""

from clockhand.reproduce.experiment import PaperExperiment, read_paper_experiment
from clockhand.reproduce.judge import Claim, judge
from clockhand.reproduce.rules import Verdict
from clockhand.reproduce.run import Reproduction, reproduce

__all__ = [
    "Claim",
    "PaperExperiment",
    "Reproduction",
    "Verdict",
    "judge",
    "read_paper_experiment",
    "reproduce",
]
