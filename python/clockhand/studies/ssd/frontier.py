"""The frontier of sizes in figures: the least that a buffer of at most each size needs."""

from collections.abc import Sequence

import polars as pl

from clockhand.report.canvas import Canvas, Spec
from clockhand.report.compared import Compared, Record, axis_of, quantity
from clockhand.report.scales import Measure

FRONTIER = "frontier"
FRONTIER_FIELDS = ("host_writes", "erases", "write_p99_us")
"""The columns that have a frontier; the knee is that of the first one."""

MIB = 1 << 20


def frontier_records(sizes: pl.DataFrame) -> list[Record]:
    """Return the frontiers as records over sizes; none of a single size.

    Args:
        sizes: What is best at each size, ascending.
    """
    if sizes.height < 2:
        return []
    columns = sizes.select(
        pl.lit(FRONTIER).alias("policy"),
        (pl.col("buffer_bytes") / MIB).alias("buffer_mib"),
        *(pl.col(field).cum_min() for field in FRONTIER_FIELDS),
        "is_knee",
        pl.col("best").alias("knee_buffer"),
    )
    return columns.to_dicts()


def knee_layers(
    compared: Compared, measure: Measure, frontier: Sequence[Record], canvas: Canvas
) -> list[Spec]:
    """Return a ring around the knee, with the buffer that is there."""
    knees = [record for record in frontier if record["is_knee"]]
    if measure.field != FRONTIER_FIELDS[0] or not knees:
        return []
    axis = axis_of(compared, measure)
    place: Spec = {
        "x": compared.sizes.channel(),
        "y": quantity(
            measure.field,
            title=measure.title,
            scale=axis.scale(),
            axis=axis.axis(measure.kind),
        ),
    }
    data = {"values": [{**record, "said": f"knee: {record['knee_buffer']}"} for record in knees]}
    ring = {"type": "point", "size": 260, "filled": False, "strokeWidth": 2,
            "color": canvas.theme.ink}  # fmt: skip
    words = {"type": "text", "align": "left", "baseline": "bottom", "dx": 12, "dy": -10,
             "color": canvas.theme.ink}  # fmt: skip
    said: Spec = {"field": "said", "type": "nominal"}
    return [
        {"data": data, "mark": ring, "encoding": place},
        {"data": data, "mark": words, "encoding": {**place, "text": said}},
    ]
