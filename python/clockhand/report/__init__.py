"""The kit of reports and figures, and the report of simulations, for notebooks.

Reports read result rows and facts about how they were made; they never run a simulation and never
open a trace.

* :func:`write_report` writes one HTML file that opens without a network.
* :func:`figures` gives the same figures as Altair charts, for a notebook.
* :func:`write_plots` writes each of them as SVG and PNG.
* :func:`paper_table` gives rows as a table for LaTeX or Markdown.
* :func:`render_reproduction` gives the page of a reproduction.
* :func:`render` and :func:`pictures` give what these would write.
"""

import importlib
from typing import TYPE_CHECKING, Any

from clockhand.study.facts import DeviceFacts, Facts, PolicyFacts, TraceFacts

if TYPE_CHECKING:
    from clockhand.report.paper_tables import paper_table
    from clockhand.reproduce.report import render_reproduction
    from clockhand.studies.pages.charts import figures, pictures, write_plots
    from clockhand.studies.pages.report import render, write_report

# The packages that use the kit are above it, so they are imported when they are first needed.
ROOMS = {
    "figures": "clockhand.studies.pages.charts",
    "paper_table": "clockhand.report.paper_tables",
    "pictures": "clockhand.studies.pages.charts",
    "render": "clockhand.studies.pages.report",
    "render_reproduction": "clockhand.reproduce.report",
    "write_plots": "clockhand.studies.pages.charts",
    "write_report": "clockhand.studies.pages.report",
}

__all__ = [
    "DeviceFacts",
    "Facts",
    "PolicyFacts",
    "TraceFacts",
    "figures",
    "paper_table",
    "pictures",
    "render",
    "render_reproduction",
    "write_plots",
    "write_report",
]


def __getattr__(name: str) -> Any:
    if name not in ROOMS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(ROOMS[name]), name)
