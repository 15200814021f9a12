"""Write buffers on flash drives: what traces turn into, at the traces' own addresses."""

from clockhand.studies.ssd.findings import FAMILY
from clockhand.studies.ssd.result import SsdRun, beside, result_of
from clockhand.study.run import Study, call_of

STUDY = Study(
    "ssd",
    SsdRun,
    contender="buffer",
    devices="ssds",
    label=lambda: FAMILY,
    beside=beside,
    result_of=result_of,
)

run_ssd = call_of(
    STUDY,
    "run_ssd",
    """Put write buffers in front of flash drives and count what traces turn into.

    Addresses are the trace's own; its streams get ranges of their own that begin with a block.
    """,
)
