"""Sentences of results that were estimated from samples of the pages."""

from collections.abc import Sequence

from clockhand.study.records import Record

SAMPLE_COLUMNS = (
    "sample_share", "replicates", "misses_standard_error", "read_ios_standard_error",
    "write_ios_standard_error", "io_time_us_standard_error",
)  # fmt: skip
"""The columns of rows of page policies that have values only where rows are estimated."""

DRAWN_ERRORS = 2
"""Standard errors that figures show to either side of an estimate."""


def estimate_note(rows: Sequence[Record]) -> str | None:
    """Say that rows of a trace are estimated, and from what; nothing if they are exact."""
    shares = sorted({row["sample_share"] for row in rows if row.get("sample_share") is not None})
    if not shares or shares == [1.0]:
        return None
    replicates = max(row["replicates"] for row in rows)
    rates = ", ".join(f"{100 * share:.3g} %" for share in shares if share < 1)
    rest = "; cells with the share 1 are exact" if shares[-1] == 1.0 else ""
    return f"estimated from {replicates} samples of {rates} of the pages{rest}"
