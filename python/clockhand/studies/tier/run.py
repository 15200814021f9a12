"""Two tiers of memory: traces under fast and slow memory that is loaded from in place."""

from clockhand.studies.tier.result import COURSE_SCHEMA, Tiering, result_of
from clockhand.study.calls import asks
from clockhand.study.columns import schema
from clockhand.study.run import Study, called
from clockhand.traces import Traces

TIER_SCHEMA = schema("tier")
"""Names, order and types of the columns of a result."""

TIER = Study(
    name="tier",
    command="tier",
    made=Tiering,
    beside=lambda: COURSE_SCHEMA,
    result_of=result_of,
)


@asks("tier")
def run_tier(traces: Traces, **options: object) -> Tiering:
    """Run traces on two tiers of memory, for a grid of cells.

    Each page that a request touches is one access to one line of memory, served by the tier where
    the page is. Every list is a dimension of the grid.
    """
    return called(TIER, traces, options)
