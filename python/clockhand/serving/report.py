"""The report of a session: what clients asked, how long it took, and what the buffer made of it."""

import itertools
from collections.abc import Iterator, Mapping, Sequence

import polars as pl

from clockhand.report.appearance import LIGHT, PAGE, Theme
from clockhand.report.canvas import Spec
from clockhand.report.course import (
    CoursePage,
    Panel,
    TitledTable,
    line_chart,
    looks_of,
    pictures,
    rates,
)
from clockhand.report.table import plain_table
from clockhand.report.words import size_text
from clockhand.study.facts import printable
from clockhand.study.records import Fields, Record

OVERLINE = "a write buffer as a disk"
MIB = 2**20


def render(rows: pl.DataFrame, samples: pl.DataFrame, facts: Record) -> str:
    """Return the report of a session as HTML text.

    Args:
        rows: Its row.
        samples: Counts while it went on, with the columns of :data:`.course.SAMPLE_SCHEMA`.
        facts: How the session was made.
    """
    page = CoursePage()
    for slug, title, text, panels in _parts(rows, samples, PAGE):
        page.add(slug, title, text, panels, line_chart)
    tables = [
        TitledTable("Times of requests", TIMES_TEXT, plain_table(_times(rows), {})),
        TitledTable("All counts", "", plain_table(rows, {})),
    ]
    subject = f"{rows['disk'][0]} behind {rows['buffer_resolved'][0]}"
    return page.rendered(OVERLINE, subject, findings(rows), tables, facts)


def specifications(rows: pl.DataFrame, samples: pl.DataFrame) -> dict[str, Spec]:
    """Return each figure in Vega-Lite, by its key."""
    parts = _parts(rows, samples, LIGHT)
    return pictures("", itertools.chain.from_iterable(part[-1] for part in parts), line_chart)


TIMES_TEXT = (
    "From the arrival of the whole request to the moment at which its answer is ready, in "
    "microseconds: half of the requests took at most p50, 99 % at most p99."
)


def findings(rows: pl.DataFrame) -> list[str]:
    """Return what stands out in a session, the most important first."""
    row = rows.row(0, named=True)
    hits = row["read_hits"] + row["write_hits"]
    name = printable(row["buffer_resolved"])
    sentences = [
        f"Behind {name} {row['write_references']:,} pages were written by clients and "
        f"{row['host_writes']:,} to the disk, in {row['batches']:,} batches"
    ]
    if row["batches"]:
        sentences[0] += f" of {row['host_writes'] / row['batches']:,.1f} pages"
    sentences[0] += "."
    if row["references"]:
        share = f"{100 * hits / row['references']:.1f} %"
        sentences.append(f"{share} of {row['references']:,} references of pages were hits.")
    sentences += _slow(row)
    if row["nvm_bytes_written"]:
        sentences.append(
            f"{size_text(row['nvm_bytes_written'])} went to the NVM file, in "
            f"{row['nvm_writes']:,} pages with their entries."
        )
    if row["recovered_pages"] or row["torn_versions"] or row["damaged_pages"]:
        sentences.append(
            f"The start brought {row['recovered_pages']:,} pages from NVM to the disk; "
            f"{row['torn_versions']:,} versions were torn, {row['damaged_pages']:,} damaged."
        )
    if row["errors"]:
        sentences.append(f"{row['errors']:,} times something failed; the command said what.")
    return sentences


def _slow(row: Record) -> Iterator[str]:
    known = {
        kind: row[f"{kind}_us_p99"]
        for kind in ("read", "write", "flush")
        if row[f"{kind}_us_p99"] is not None
    }
    if known:
        times = ", ".join(f"a {kind} at most {time_us:,.0f} µs" for kind, time_us in known.items())
        yield f"In 99 of 100 cases took {times}."


def _times(rows: pl.DataFrame) -> pl.DataFrame:
    row = rows.row(0, named=True)
    counts = {"read": "read_requests", "write": "write_requests", "flush": "flushes"}
    return pl.DataFrame(
        {
            "request": list(counts),
            "requests": [row[name] for name in counts.values()],
            "p50 µs": [row[f"{kind}_us_p50"] for kind in counts],
            "p99 µs": [row[f"{kind}_us_p99"] for kind in counts],
        }
    )


Part = tuple[str, str, str, Sequence[Panel]]


def _parts(rows: pl.DataFrame, samples: pl.DataFrame, theme: Theme) -> list[Part]:
    seconds = f"{rows['seconds'][0]:,.1f} s"
    return [
        ("requests", "What clients asked", f"In {seconds}.", _requests(samples, theme)),
        ("buffer", "The buffer", "At each moment.", _buffer(rows, samples, theme)),
        ("disk", "What it wrote", "", _written(samples, theme)),
    ]


def _requests(samples: pl.DataFrame, theme: Theme) -> list[Panel]:
    kinds = {"read_requests": "reads", "write_requests": "writes", "flushes": "flushes"}
    volumes = {"read_bytes": "read", "written_bytes": "written"}
    times = {"read_us_p99": "reads", "write_us_p99": "writes", "flush_us_p99": "flushes"}
    return [
        Panel(
            "requests",
            "Requests per second",
            "",
            "Requests per second",
            looks_of(list(kinds.values()), theme),
            rates(samples.to_dicts(), kinds),
            is_since_last=True,
        ),
        Panel(
            "volume",
            "MiB per second",
            "",
            "MiB per second",
            looks_of(list(volumes.values()), theme),
            rates(samples.to_dicts(), volumes, MIB),
            is_since_last=True,
        ),
        Panel(
            "times",
            "Time of 99 % of the requests (µs)",
            "Of each second, or of the longest second where lines are thinned.",
            "Microseconds",
            looks_of(list(times.values()), theme),
            _levels(samples, times),
        ),
    ]


def _buffer(rows: pl.DataFrame, samples: pl.DataFrame, theme: Theme) -> list[Panel]:
    row = rows.row(0, named=True)
    places = {"dram_pages_used": "in DRAM", "dirty_pages": "dirty"}
    if row["nvm_pages"]:
        places["nvm_pages_used"] = "in NVM"
    of = f"Of {row['dram_pages']:,} in DRAM and {row['nvm_pages']:,} in NVM."
    panels = [
        Panel(
            "pages",
            "Pages in the buffer",
            of,
            "Pages",
            looks_of(list(places.values()), theme),
            _levels(samples, places),
        ),
        Panel(
            "hits",
            "Hits (%)",
            "Of the references of pages between two samples.",
            "%",
            looks_of(["hits"], theme),
            _hits(samples),
        ),
        Panel(
            "held",
            "Pages that wait for the disk",
            "They are readable meanwhile; more than a moment means that the disk refuses them.",
            "Pages",
            looks_of(["held"], theme),
            _levels(samples, {"held_pages": "held"}),
        ),
    ]
    return [panel for panel in panels if panel.key != "held" or panel.is_drawable()]


def _written(samples: pl.DataFrame, theme: Theme) -> list[Panel]:
    places = {"host_writes": "to the disk", "nvm_writes": "to NVM"}
    written = Panel(
        "written",
        "Pages written per second",
        "",
        "Pages per second",
        looks_of(list(places.values()), theme),
        rates(samples.to_dicts(), places),
        is_since_last=True,
    )
    sizes = Panel(
        "batches",
        "Pages of a batch",
        "The mean between two samples.",
        "Pages",
        looks_of(["pages"], theme),
        [
            {"series": "pages", "x": seconds, "y": pages / batches}
            for seconds, pages, batches in _grown(samples, "host_writes", "batches")
            if batches
        ],
    )
    return [written, sizes]


def _grown(samples: pl.DataFrame, one: str, other: str) -> Iterator[tuple[float, int, int]]:
    """Return of each sample its time, and how much two counts have grown since the one before."""
    for before, after in itertools.pairwise(samples.to_dicts()):
        yield after["seconds"], after[one] - before[one], after[other] - before[other]


def _hits(samples: pl.DataFrame) -> list[Fields]:
    summed = samples.with_columns(hits=pl.col("read_hits") + pl.col("write_hits"))
    return [
        {"series": "hits", "x": seconds, "y": 100 * hits / references}
        for seconds, hits, references in _grown(summed, "hits", "references")
        if references
    ]


def _levels(samples: pl.DataFrame, names: Mapping[str, str]) -> list[Fields]:
    return [
        {"series": series, "x": row["seconds"], "y": row[name]}
        for row in samples.to_dicts()
        for name, series in names.items()
        if row[name] is not None
    ]
