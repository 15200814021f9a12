"""Figures over time: a line per cell through the rows of its intervals."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from clockhand.report.appearance import Mark, marks
from clockhand.report.canvas import CANVAS, PICTURE, Canvas, Spec, framed
from clockhand.report.compared import Record, known_tooltip, quantity
from clockhand.report.html import Figure, Part
from clockhand.report.words import free_slug
from clockhand.study.facts import Facts, SsdRunFacts, printable, trace_label

HEIGHT = 240
MOST_LINES = 10
"""More of them are a tangle; the rows have all."""

TIME = "from_us"
PLACE = "from_reference"


@dataclass(frozen=True)
class Over:
    """A figure over time.

    Attributes:
        key: Its name in files and in the library.
        field: A column of the rows, or what it is called in the figure's data.
        title: What stands above the figure, with the unit.
        note: What it shows, in a sentence.
        value: What is drawn; the column if not given.
    """

    key: str
    field: str
    title: str
    note: str
    value: pl.Expr | None = None


def per_reference(
    key: str, column: str, title: str, note: str = "Mean of the interval; lower is better."
) -> Over:
    """Return a figure of a column over the references of its interval."""
    return Over(
        key, f"{key.replace('-', '_')}_each", title, note, pl.col(column) / pl.col("references")
    )


class OverTime:
    """A study's figures over time.

    Args:
        distinguished_by: The columns that tell cells apart; a line is named by those that vary.
        measures: What is drawn.
    """

    def __init__(self, distinguished_by: Sequence[str], *measures: Over) -> None:
        self.distinguished_by = distinguished_by
        self.measures = measures

    def parts(
        self, intervals: pl.DataFrame | None, facts: Facts | SsdRunFacts, before: Sequence[Part]
    ) -> list[Part]:
        """Return a part of the page for each trace; none without intervals.

        Args:
            intervals: The rows of intervals.
            facts: How they were made.
            before: The parts that stand before them.
        """
        number = sum(len(part.figures) for part in before)
        slugs = [part.slug for part in before]
        parts = []
        for label, lines in self._traces(intervals, facts):
            slugs.append(free_slug(f"{label} over time", slugs))
            drawn = [
                Figure(
                    f"{slugs[-1]}-{measure.key}", measure.title, measure.note,
                    lines.chart(measure, CANVAS, label), number + place, series=lines.legend,
                )
                for place, measure in enumerate(self._measures(lines), 1)
            ]  # fmt: skip
            number += len(drawn)
            parts.append(
                Part(
                    slug=slugs[-1], title=f"{label}, over time", text=lines.text,
                    rows=[("", drawn)], records=lines.records, is_of_input=False,
                )
            )  # fmt: skip
        return parts

    def charts(self, intervals: pl.DataFrame | None, facts: Facts | SsdRunFacts) -> dict[str, Spec]:
        """Return the same figures as pictures, by their keys."""
        traces = list(self._traces(intervals, facts))
        drawn: dict[str, Spec] = {}
        slugs: list[str] = []
        for label, lines in traces:
            slugs.append(free_slug(label, slugs))
            prefix = f"{slugs[-1]}-" if len(traces) > 1 else ""
            for measure in self._measures(lines):
                key = f"{prefix}over-time-{measure.key}"
                drawn[key] = lines.chart(measure, PICTURE, label)
        return drawn

    def _measures(self, lines: "_Lines") -> list[Over]:
        return [
            measure
            for measure in self.measures
            if any(record[measure.field] is not None for record in lines.records)
        ]

    def _traces(
        self, intervals: pl.DataFrame | None, facts: Facts | SsdRunFacts
    ) -> "Iterator[tuple[str, _Lines]]":
        if intervals is None:
            return
        for rows in intervals.partition_by("trace", maintain_order=True):
            varying = [name for name in self.distinguished_by if rows[name].n_unique() > 1]
            named = pl.concat_str(
                [_named(name) for name in varying] or [pl.lit("all references")], separator=", ",
                ignore_nulls=True,
            )  # fmt: skip
            axis = TIME if rows[TIME].null_count() == 0 else PLACE
            records = rows.select(
                named.alias("line"), pl.col("interval", PLACE),
                (pl.col(axis) / (1e6 if axis == TIME else 1)).alias("x"),
                *((pl.col(it.field) if it.value is None else it.value).alias(it.field)
                  for it in self.measures),
            ).to_dicts()  # fmt: skip
            yield trace_label(rows["trace"][0], facts), _Lines(records, axis == TIME)


def _named(column: str) -> pl.Expr:
    text = pl.col(column).cast(pl.String)
    plain = column in ("policy", "buffer", "admission", "ssd", "device", "tiers", "promote")
    return text if plain else pl.format("{} {}", pl.lit(column.replace("_", " ")), text)


class _Lines:
    """The lines of a trace."""

    def __init__(self, records: Sequence[Record], is_timed: bool) -> None:
        names = list(dict.fromkeys(str(record["line"]) for record in records))
        self._names = names[:MOST_LINES]
        self._is_timed = is_timed
        self.records = [
            {**record, "line": printable(record["line"])}
            for record in records
            if record["line"] in self._names
        ]
        count = len({record["interval"] for record in records})
        self.text = f"{count:,} intervals" + (
            f" · the first {MOST_LINES} of {len(names):,} lines" if len(names) > MOST_LINES else ""
        )

    def _looks(self, canvas: Canvas) -> list[Mark]:
        return marks([str(printable(name)) for name in self._names], canvas.theme)

    @property
    def legend(self) -> list[tuple[str, str, tuple[int, ...]]]:
        """The looks of the lines on the page."""
        return [(look.policy, look.color, look.dash) for look in self._looks(CANVAS)]

    def chart(self, measure: Over, canvas: Canvas, label: str) -> Spec:
        """Draw a measure as steps, each as long as its interval."""
        looks = self._looks(canvas)
        title = "Seconds from the first request" if self._is_timed else "References before"
        domain = [look.policy for look in looks]
        scale = {"domain": domain, "range": [look.color for look in looks]}
        dashes = {"domain": domain, "range": [list(look.dash) for look in looks]}
        legend = None if canvas.on_page or len(domain) == 1 else {"title": None, "labelLimit": 320}
        tooltip = known_tooltip(
            [
                ("line", "Line", None),
                ("x", title, ",.6~r"),
                (measure.field, measure.title, ",.6~r"),
            ],
            self.records,
        )
        encoding: Mapping[str, object] = {
            "x": quantity("x", title=title, scale={"nice": False}),
            "y": quantity(measure.field, title=measure.title, scale={"zero": True}),
            "color": {"field": "line", "type": "nominal", "scale": scale, "legend": legend},
            "strokeDash": {"field": "line", "type": "nominal", "scale": dashes, "legend": legend},
            "tooltip": tooltip,
        }
        kept = {"filter": f"isValid(datum[{measure.field!r}])"}
        mark = {"type": "line", "interpolate": "step-after", "strokeWidth": 1.6}
        points = {"type": "point", "filled": True, "size": 14, "opacity": 0.8}
        layers: list[Spec] = [
            {"transform": [kept], "mark": mark, "encoding": encoding},
            {"transform": [kept], "mark": points,
             "encoding": {name: it for name, it in encoding.items() if name != "strokeDash"}},
        ]  # fmt: skip
        return framed(layers, self.records, canvas, title=measure.title, label=label, height=HEIGHT)
