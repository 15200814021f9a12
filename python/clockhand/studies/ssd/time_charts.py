"""The figures of time in the drive, as Vega-Lite charts: what is drawn of which records."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from clockhand.report import sections
from clockhand.report.canvas import Canvas, Spec
from clockhand.report.compared import Compared, Record, SizeAxis
from clockhand.report.lines import cut_note, lines_chart
from clockhand.report.measures import drawable
from clockhand.report.scales import Kind, Measure, label_expression, ticks
from clockhand.report.stacks import Drawing, Stack, busy_parts, stacked_areas, stacked_shares
from clockhand.report.words import time_unit
from clockhand.studies.ssd.time_records import (
    KINDS,
    MOST_COURSES,
    OPS,
    Timed,
    cdf_records,
    course_records,
    load_records,
    part_records,
    tail_records,
    window_records,
)
from clockhand.studies.ssd.waits import CAUSES

STACK = Stack(
    "cause",
    "Waits for",
    [CAUSES[wait] for wait in ("service", "flash", "collection", "buffer", "front", "host")],
    (None, 0, 1, 2, 3, 4),
)
_PLACES = {cause: place for place, cause in enumerate(STACK.pieces)}

CDFS = {
    op: Measure(
        f"cdf_{op}", "cdf_share", f"Share of {op}s done within a latency",
        f"Share of {op}s that take no longer; a point a sixteenth of a doubling.", Kind.SHARE,
    )
    for op in OPS
}  # fmt: skip
LOADS = (
    Measure("load_write_p99", "load_write_p99_us", "p99 of writes under load",
            "99 of 100 writes take no longer.", Kind.TIME),
    Measure("load_read_p99", "load_read_p99_us", "p99 of reads under load",
            "99 of 100 reads take no longer.", Kind.TIME),
    Measure("load_iops", "load_iops", "Requests served a second under load",
            "Reads and writes that were completed; less than arrive where the drive is saturated.",
            Kind.NUMBER),
)  # fmt: skip
WINDOWS = (
    Measure("window_write_p99", "window_write_p99_us", "p99 of writes over time",
            "Of the writes completed in each window.", Kind.TIME),
    Measure("window_read_p99", "window_read_p99_us", "p99 of reads over time",
            "Of the reads completed in each window.", Kind.TIME),
    Measure("window_iops", "window_iops", "Requests served a second over time",
            "Reads and writes completed in each window.", Kind.NUMBER),
    Measure("window_relocations", "window_relocations", "Pages that collection moved over time",
            "By decision, in each window.", Kind.COUNT),
    Measure("window_waf", "window_waf", "Write amplification over time",
            "Of what was decided in each window.", Kind.RATIO),
)  # fmt: skip


@dataclass(frozen=True)
class TimeRecords:
    """The values of all figures of time of one part.

    Attributes:
        unit: The unit of axes of time, and its length in µs.
        load: What kind of load arrivals differ in.
        records: The values of each kind of figure.
    """

    unit: tuple[str, float]
    load: str
    records: dict[str, list[Record]]

    def all(self) -> list[Record]:
        """Return all values, as the page keeps them."""
        return [record for records in self.records.values() for record in records]


def time_records(timed: Timed) -> TimeRecords:
    """Return the values of all figures of time."""
    unit = time_unit(timed.moments["begins_us"])
    load, loads = load_records(timed)
    records = {
        "cdf": cdf_records(timed),
        "tail": tail_records(timed, _PLACES),
        "load": loads,
        "window": window_records(timed, unit[1]),
        "course": course_records(timed, unit[1], _PLACES),
        "parts": part_records(timed),
    }
    return TimeRecords(unit, load, records)


def time_figures(
    timed: Timed, values: TimeRecords, compared: Compared, canvas: Canvas
) -> Iterator[sections.Drawing]:
    """Give the figures of time of one trace on one drive, the leading one first."""
    drawn = _Figures(timed, values, compared, canvas)
    yield from drawn.cdfs()
    yield from drawn.tails()
    yield from drawn.over("load", _load_axis(values), LOADS)
    yield from drawn.over("window", _time_axis(values, "window"), WINDOWS)
    yield from drawn.courses()
    yield drawn.parts()


def _load_axis(values: TimeRecords) -> SizeAxis:
    loads = sorted({record["load"] for record in values.records["load"]})
    return SizeAxis("load", KINDS.get(values.load, "Load"), loads)


def _time_axis(values: TimeRecords, chart: str) -> SizeAxis:
    field = f"{chart}_time"
    times = sorted({record[field] for record in values.records[chart]})
    shown = "format(datum.value, ',.4~r')"
    return SizeAxis(field, f"Time ({values.unit[0]})", times, shown, is_logarithmic=False)


@dataclass(frozen=True)
class _Figures:
    timed: Timed
    values: TimeRecords
    compared: Compared
    canvas: Canvas

    def _of(self, chart: str, op: str | None = None) -> list[Record]:
        records = self.values.records[chart]
        return [record for record in records if op is None or record["op"] == op]

    def _where(self, chart: str, op: str | None = None, policy: str | None = None) -> str:
        tests = [f"datum.chart == {json.dumps(chart)}"]
        tests += [] if op is None else [f"datum.op == {json.dumps(op)}"]
        tests += [] if policy is None else [f"datum.policy == {json.dumps(policy)}"]
        return " && ".join(tests)

    def _lines(self, chart: str, along: SizeAxis, op: str | None = None) -> Compared:
        return replace(
            self.compared,
            records=self._of(chart, op),
            sizes=along,
            where=self._where(chart, op),
            tooltip=[("policy", "Buffer", None), (along.field, along.title, ",.4~r")],
        )

    def _drawing(self, chart: str, op: str | None, title: str, policy: str | None) -> Drawing:
        records = self._of(chart, op)
        if policy is not None:
            records = [record for record in records if record["policy"] == policy]
        where = self._where(chart, op, policy)
        return Drawing(records, where, title, self.compared.label, self.canvas)

    def _some(self) -> list[str]:
        """The buffers of figures that have a row for each."""
        return [name for name in self.timed.series if name in self.compared.focus]

    def cdfs(self) -> Iterator[sections.Drawing]:
        for op in self.timed.ops:
            latencies = sorted({record["latency_us"] for record in self._of("cdf", op)})
            along = SizeAxis(
                "latency_us", "Latency", latencies, label_expression(Kind.TIME),
                ticks(latencies[0], latencies[-1]), is_logarithmic=True, is_stepped=True,
            )  # fmt: skip
            measure, compared = CDFS[op], self._lines("cdf", along, op)
            chart = lines_chart(compared, measure, self.canvas)
            yield sections.Drawing(measure.key, measure.title, measure.note, chart)

    def tails(self) -> Iterator[sections.Drawing]:
        for op in self.timed.ops:
            title = f"What the slowest {op}s wait for"
            caption = (
                f"The {op}s that take p99 or longer: what their latency consists of. Behind a "
                "name stands p99."
            )
            drawing = self._drawing("tail", op, title, None)
            named = f"indexof({json.dumps(self._some())}, datum.policy) >= 0"
            drawing = replace(drawing, where=f"{drawing.where} && {named}")
            chart = stacked_shares(drawing, STACK, "tail_share", self._some(), "tail_text")
            looks = STACK.looks(self.canvas.theme)
            yield sections.Drawing(f"tail_{op}", title, caption, chart, looks)

    def over(
        self, chart: str, along: SizeAxis, measures: Sequence[Measure]
    ) -> Iterator[sections.Drawing]:
        if len(along.sizes) < 2:
            return
        compared = self._lines(chart, along)
        for measure in drawable(measures, compared.records):
            drawn = lines_chart(compared, measure, self.canvas)
            note = f"{measure.note} {cut_note(compared, measure)}".rstrip()
            yield sections.Drawing(measure.key, measure.title, note, drawn)

    def courses(self) -> Iterator[sections.Drawing]:
        along = _time_axis(self.values, "course")
        if len(along.sizes) < 3:
            return
        tooltip: list[Spec] = [
            {"field": "cause", "type": "nominal", "title": "Waits for"},
            {"field": "mean_us", "type": "quantitative", "title": "µs", "format": ",.4~r"},
            {"field": "told_requests", "type": "nominal", "title": "Requests"},
            {"field": "told_moved", "type": "nominal", "title": "Pages that collection moved"},
        ]
        for place, policy in enumerate(self.timed.series[:MOST_COURSES]):
            for op in self.timed.ops:
                title = f"{op.title()}s over time with {policy}"
                drawing = self._drawing("course", op, title, policy)
                chart = stacked_areas(
                    drawing, STACK, along, "mean_us", "Mean latency", Kind.TIME, tooltip
                )
                caption = (
                    "Mean latency of what was completed in each stretch, by what it consists of."
                )
                looks = STACK.looks(self.canvas.theme)
                yield sections.Drawing(f"course_{op}_{place + 1}", title, caption, chart, looks)

    def parts(self) -> sections.Drawing:
        title = "How busy channels and dies are"
        caption = "Share of the run in which each part was busy; a die also while it is held."
        parts = list(dict.fromkeys(record["part"] for record in self._of("parts")))
        some = self._some()
        drawing = self._drawing("parts", None, title, None)
        named = f"indexof({json.dumps(some)}, datum.policy) >= 0"
        drawing = replace(drawing, where=f"{drawing.where} && {named}")
        chart = busy_parts(drawing, parts, some, "utilisation")
        return sections.Drawing("parts", title, caption, chart)
