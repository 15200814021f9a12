"""Options of reading traces from paths, as the engine declares them, and what was read."""

from typing import TYPE_CHECKING

from clockhand.study.calls import FILE_READING, PART, READING, Argument
from clockhand.study.options import options_of
from clockhand.study.records import Record
from clockhand.traces.columns_of_text import format_text

if TYPE_CHECKING:
    from clockhand.api import FileReading, Part, Reading
else:
    from typing import TypedDict

    def _mapping(name: str, about: str, declared: tuple[Argument, ...]) -> type:
        made = TypedDict(name, {one.keyword: one.type for one in declared}, total=False)
        entries = [line for one in declared for line in one.entry()]
        made.__doc__ = "\n".join([about, "", "Attributes:", *entries])
        made.declared = declared
        return made

    Part = _mapping(
        "Part",
        "Which requests of a trace are wanted; all of them if nothing is given.\n\n"
        "``only`` and ``streams`` choose first, then ``skip`` and ``limit`` count the requests "
        "that are\nleft. The trace is still read to its end, so that what is left out is counted.",
        PART,
    )
    FileReading = _mapping(
        "FileReading",
        "How a trace file is read, and which of its requests are wanted.",
        FILE_READING,
    )
    Reading = _mapping(
        "Reading",
        "How traces that are given as paths are read, and which requests of each are wanted.",
        READING,
    )


def reading_notes(report: Record) -> list[str]:
    """Return what a reader assumed and passed over, so that nothing is dropped silently."""
    notes = list(report["notes"])
    if report["skipped_records"]:
        shown = "; ".join(report["first_skipped"])
        notes.append(f"malformed records that were skipped: {report['skipped_records']} ({shown})")
    if report["zero_size_requests"]:
        notes.append(f"requests of size 0 that were skipped: {report['zero_size_requests']}")
    return notes


def reading_options(reading: Reading) -> dict[str, object]:
    """Return the options of a command that reads traces in this way, by their names."""
    given = {**reading, "trace_format": format_text(reading.get("trace_format"))}
    options = {name: options_of("reading")[name].checked(value) for name, value in given.items()}
    fetches = options.get("fetches")
    return {
        **options,
        "skip": options.get("skip") or None,
        "fetches": None if fetches is None else "yes" if fetches else "no",
    }


__all__ = ["FileReading", "Part", "Reading", "reading_notes", "reading_options"]
