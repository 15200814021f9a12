"""Two tiers of memory: traces under fast and slow memory that is loaded from in place."""

from clockhand.studies.tier.result import COURSE_SCHEMA, Tiering, result_of
from clockhand.study.run import Study, call_of

STUDY = Study("tier", Tiering, beside=lambda: COURSE_SCHEMA, result_of=result_of)

run_tier = call_of(
    STUDY,
    "run_tier",
    """Run traces on two tiers of memory, for a grid of cells.

    Each page that a request touches is one access to one line of memory, served by the tier where
    the page is. Every list is a dimension of the grid.
    """,
)
