"""Figures of a range of parameters: what a policy costs against the value of one parameter."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from clockhand.report.canvas import PICTURE_HEIGHT, Canvas, Spec, framed
from clockhand.report.compared import quantity
from clockhand.report.scales import Kind, label_expression
from clockhand.report.words import free_slug
from clockhand.study.facts import Facts
from clockhand.study.policies import BOUND, OPTIMUM, name_of
from clockhand.study.ranges import Family, families, is_of_window

KEY = "io-time"
MOST_SIZES = 6
"""Lines of more memory sizes look alike; the figure takes these, evenly chosen."""
REFERENCES = {OPTIMUM: "MIN", BOUND: "lower bound", "lru": "LRU"}
"""The policies that lines are compared with, by name."""
PREDICTED = "predicted window"
DASHES = [[6, 3], [2, 3], [10, 3]]

Record = dict[str, Any]


@dataclass(frozen=True)
class Ranged:
    """One figure: a family of policies, and what is drawn of it.

    Attributes:
        key: Its name in the API, which no other figure of the trace has.
        family: The policies that differ in one parameter.
        records: What is drawn.
    """

    key: str
    family: Family
    records: list[Record]

    @property
    def title(self) -> str:
        """What stands above the figure."""
        return f"I/O time of {self.family.name} against {self.family.parameter}"

    @property
    def caption(self) -> str:
        """What the figure shows."""
        return _caption(self.family, self.records)

    def chart(self, canvas: Canvas, label: str) -> Spec:
        """Draw I/O time against the parameter, for a trace of this label."""
        return _chart(self.title, self.family, self.records, canvas, label)


def ranges_of(cells: Sequence[Record], trace: str, facts: Facts | None) -> list[Ranged]:
    """Return the figures of all ranges in the rows of one trace and setting.

    Args:
        cells: Rows with the columns ``policy``, ``frames`` and ``io_time_us``.
        trace: The trace, by its name in the facts.
        facts: How the rows were made; they may know which window is predicted.
    """
    found: list[Ranged] = []
    for family in families(cell["policy"] for cell in cells):
        records = _records(cells, family, trace, facts)
        if any(record["kind"] == family.name for record in records):
            key = free_slug(f"{KEY}-{family.parameter}", [ranged.key for ranged in found])
            found.append(Ranged(key, family, records))
    return found


def _caption(family: Family, records: Sequence[Record]) -> str:
    """Say what the best value at each memory size is."""
    bests = []
    for frames in _sizes(records):
        curve = [
            record
            for record in records
            if record["frames"] == frames and record["kind"] == family.name
        ]
        best = min(curve, key=lambda record: record["io_time_s"])
        text = f"{best['value']:.4g} at {frames:,} frames"
        predicted = [
            record["value"]
            for record in records
            if record["frames"] == frames and record["kind"] == PREDICTED
        ]
        bests.append(text + (f" (predicted {predicted[0]:.4g})" if predicted else ""))
    return f"Lower is better. Best {family.parameter}: {'; '.join(bests)}."


def _records(
    cells: Sequence[Record], family: Family, trace: str, facts: Facts | None
) -> list[Record]:
    """Return a record per memory size and value or reference."""
    of_family = [cell for cell in cells if cell["policy"] in family.values]
    chosen = _chosen(sorted({cell["frames"] for cell in of_family}))
    records: list[Record] = []
    met: set[tuple[str, int]] = set()
    for cell in cells:
        kind = family.name if cell["policy"] in family.values else _reference(cell["policy"])
        identity = (cell["policy"], cell["frames"])
        if kind is None or identity in met or cell["frames"] not in chosen:
            continue
        if cell["io_time_us"] is None:
            continue
        met.add(identity)
        records.append(
            {
                "kind": kind,
                "policy": cell["policy"],
                "frames": cell["frames"],
                "value": family.values.get(cell["policy"]),
                "io_time_s": cell["io_time_us"] / 1e6,
            }
        )
    known = facts.get("predicted_windows", []) if facts else []
    for predicted in known if is_of_window(family) else []:
        is_here = all(predicted[name] == cells[0][name] for name in ("page_bytes", "device"))
        if is_here and predicted["trace"] == trace and predicted["frames"] in chosen:
            frames, pages = predicted["frames"], predicted["window_pages"]
            value = pages / frames if family.parameter == "window_share" else pages
            record = {"kind": PREDICTED, "policy": PREDICTED, "frames": frames, "value": value}
            records.append({**record, "io_time_s": None})
    return records


def _chart(
    title: str, family: Family, records: Sequence[Record], canvas: Canvas, label: str
) -> Spec:
    """Draw a line per memory size, references as level lines, predictions as upright ones."""
    sizes = _sizes(records)
    legend = {"orient": "top", "format": ","} if len(sizes) > 1 else None
    color: Spec = {
        "field": "frames",
        "type": "ordinal",
        "title": "Frames",
        "scale": {"domain": sizes, "range": list(canvas.theme.series[: len(sizes)])},
        "legend": legend,
    }
    axis = {"labelExpr": label_expression(Kind.NUMBER), "tickCount": 5}
    y = quantity("io_time_s", title="I/O time (s)", scale={"zero": False, "nice": True}, axis=axis)
    x = quantity("value", title=family.parameter, axis={"grid": False, "tickCount": 6})
    tooltip = [
        {"field": "policy", "type": "nominal", "title": "Policy"},
        quantity("frames", title="Frames", format=","),
        quantity("io_time_s", title="I/O time (s)", format=",.4~r"),
    ]

    def layer(kinds: Sequence[str], mark: Spec, **encoding: Any) -> Spec:
        chosen = {"filter": {"field": "kind", "oneOf": list(kinds)}}
        return {"transform": [chosen], "mark": mark, "encoding": {"color": color, **encoding}}

    layers = [
        layer([family.name], {"type": "line", "strokeWidth": 1.9}, x=x, y=y),
        layer(
            [family.name], {"type": "point", "filled": True, "size": 30}, x=x, y=y, tooltip=tooltip
        ),
    ]
    present = {record["kind"] for record in records}
    references = [name for name in REFERENCES.values() if name in present]
    if references:
        dash: Spec = {
            "field": "kind",
            "type": "nominal",
            "title": "Level lines",
            "scale": {"domain": references, "range": DASHES[: len(references)]},
            "legend": {"orient": "top"},
        }
        rule = {"type": "rule", "strokeWidth": 1.4, "opacity": 0.8}
        layers.append(layer(references, rule, y=y, strokeDash=dash, tooltip=tooltip))
    if PREDICTED in present:
        rule = {"type": "rule", "strokeWidth": 1.4, "strokeDash": [1, 3]}
        said = [quantity("value", title="Predicted window", format=",.4~r")]
        layers.append(layer([PREDICTED], rule, x=x, tooltip=said))
    figure = framed(layers, records, canvas, title=title, label=label, height=PICTURE_HEIGHT)
    # Its records are not those of the other figures, on the page neither.
    return figure | {"data": {"values": list(records)}}


def _reference(policy: str) -> str | None:
    return REFERENCES.get(name_of(policy))


def _sizes(records: Sequence[Record]) -> list[int]:
    return sorted({record["frames"] for record in records if record["value"] is not None})


def _chosen(sizes: Sequence[int]) -> list[int]:
    if len(sizes) <= MOST_SIZES:
        return list(sizes)
    last = len(sizes) - 1
    return [sizes[round(place * last / (MOST_SIZES - 1))] for place in range(MOST_SIZES)]
