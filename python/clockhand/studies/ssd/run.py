"""Write buffers on flash drives: what traces turn into, at the traces' own addresses."""

from clockhand.studies.ssd.findings import FAMILY
from clockhand.studies.ssd.result import SsdRun, beside, result_of
from clockhand.study.calls import asks
from clockhand.study.columns import schema
from clockhand.study.run import Study, called
from clockhand.traces import Traces

SSD_SCHEMA = schema("ssd")
"""Names, order and types of the columns of a result; the first sixteen are the contract."""

SSD = Study(
    name="ssd",
    command="ssd",
    made=SsdRun,
    contender="buffer",
    devices="ssds",
    label=lambda: FAMILY,
    beside=beside,
    result_of=result_of,
)


@asks("ssd")
def run_ssd(traces: Traces, **options: object) -> SsdRun:
    """Put write buffers in front of flash drives and count what traces turn into.

    Addresses are the trace's own; its streams get ranges of their own that begin with a block.
    """
    return called(SSD, traces, options)
