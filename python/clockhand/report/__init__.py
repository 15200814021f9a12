"""Reports and figures of simulation results.

The report reads result rows and facts about how they were made; it never runs a
simulation and never opens a trace.

* :func:`write_report` writes one HTML file that opens without a network.
* :func:`figures` gives the same figures as Altair charts, for a notebook.
* :func:`write_plots` writes each of them as SVG and PNG.
* :func:`render_reproduction` gives the page of a reproduction.
* :func:`render` and :func:`pictures` give what these would write.
"""

from clockhand.facts import DeviceFacts, Facts, PolicyFacts, TraceFacts
from clockhand.report.charts import figures, pictures, write_plots
from clockhand.report.page import render, write_report
from clockhand.report.reproduction import render_reproduction

__all__ = [
    "DeviceFacts",
    "Facts",
    "PolicyFacts",
    "TraceFacts",
    "figures",
    "pictures",
    "render",
    "render_reproduction",
    "write_plots",
    "write_report",
]
