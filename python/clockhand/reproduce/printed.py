"""Numbers of a paper's own figures, which are drawn in grey behind ours.

They are entries of a panel's ``paper`` in ``report.toml``. Each ``says`` what its line is, and
gives one of :data:`FORMS`. ``of`` names the workload, or the trace of ours, that it is of.
``error`` is how far a number that was read off a drawing may be off, in the unit of the y-axis: a
band around it.
"""

import math
from collections.abc import Iterator, Sequence

from clockhand.reproduce.packaged import packaged, packaged_content
from clockhand.study.errors import UsageError
from clockhand.study.records import Fields, Record

OF_PAPER = "paper: "
"""Prefix of lines that are the paper's."""

FORMS = {
    "y": "a height over all of our places",
    "x": "a place over all of our heights",
    "at": "the bar of that name, as high as y",
    "points": "a curve of [x, y] pairs, each within error",
}
"""What an entry gives, by the key that says so."""

TEXTS, NUMBERS = ("says", "of", "at"), ("x", "y", "error")


def printed(panel: Record, records: Sequence[Record], *of: str | None) -> list[Fields]:
    """Return what a paper says of a panel as records of lines.

    Args:
        panel: The panel, as ``report.toml`` has it.
        records: Ours; a number reaches from end to end of them. Without any there are none.
        of: What the panel is of: the trace, and the workload that it stands for.
    """
    known = [it for it in panel.get("paper", ()) if "of" not in it or it["of"] in of]
    return [record for it in known if records for record in _line(it, records)]


def _line(said: Record, records: Sequence[Record]) -> Iterator[Fields]:
    at, ends = said.get("at", "as its text says"), (min, max)
    if "points" in said:
        points, at = said["points"], "read off its drawing"
    elif "at" in said:
        points = [(x, said["y"]) for x in {it["x"] for it in records if it["at"] == at}]
    else:
        axes = {axis: [it[axis] for it in records if it[axis] is not None] for axis in "xy"}
        points = [tuple(said.get(axis, end(axes[axis])) for axis in "xy") for end in ends]
    for x, y in points:
        band = {"low": y - said["error"], "high": y + said["error"]} if "error" in said else {}
        yield {"series": f"{OF_PAPER}{said['says']}", "at": at, "x": x, "y": y, **band}


def check_printed(paper: str) -> None:
    """Refuse numbers of a paper's figures that cannot be drawn.

    Raises:
        UsageError: there are some.
    """
    for figure in packaged_content(paper, "report.toml")["figure"]:
        for panel in figure.get("panel", ()):
            for entry in panel.get("paper", ()):
                if wrong := _wrong(entry, is_logarithmic=panel.get("logarithmic", False)):
                    file, name = packaged(paper, "report.toml"), entry.get("says", "")
                    place = f"{figure['key']}, {panel['title']!r}, the paper's {name!r}"
                    raise UsageError(f"{file}: {place}: {wrong[0]}", wrong[1])


def _wrong(entry: Record, *, is_logarithmic: bool) -> tuple[str, str] | None:
    """What is wrong with an entry, and what to do."""
    keys = (*TEXTS, *NUMBERS, "points")
    if unknown := sorted(set(entry) - set(keys)):
        return f"the key {unknown[0]!r} is unknown", f"the keys are {', '.join(keys)}"
    if not all(isinstance(entry.get(name, ""), str) for name in TEXTS) or "says" not in entry:
        return "says, of or at is not a text", "give them in quotation marks; says is needed"
    given = [form for form in FORMS if form in entry and (form != "y" or "at" not in entry)]
    if len(given) != 1 or ("at" in entry and "y" not in entry):
        forms = "; ".join(f"{form}: {what}" for form, what in FORMS.items())
        return "it gives nothing that can be drawn, or several things", f"give one of {forms}"
    points = entry.get("points", [(0, entry.get("y", math.inf))])
    if not isinstance(points, list) or not all(len(point) == 2 for point in points):
        return "its points are not pairs", "give points = [[x, y], [x, y]]"
    plain = [entry[it] for it in NUMBERS if it in entry]
    plain += [it for point in entry.get("points", []) for it in point]
    if not all(type(it) in (int, float) and math.isfinite(it) for it in plain):
        return "a value is not a number", "give finite numbers"
    places = [x for x, _ in points]
    if not places or places != sorted(set(places)):
        return "its points do not go from left to right", "sort them by x, and give each x once"
    if "points" in entry and "error" not in entry:
        return "its error of reading is missing", "say how far a height may be off: error = 0.02"
    error = entry.get("error", 0)
    if error < 0 or (is_logarithmic and min(y for _, y in points) <= error):
        return f"its error {error} is below 0, or reaches there", "give a smaller one above 0"
    return None
