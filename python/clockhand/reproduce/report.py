"""The page of a reproduction: every claim with a verdict, the paper's tables, and its figures."""

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl

from clockhand.report.appearance import BOUND_DASH, PAGE, Mark, marks
from clockhand.report.canvas import CANVAS
from clockhand.report.html import Figure, Part, payload, template
from clockhand.report.panel_lines import lines_chart
from clockhand.report.words import number_text
from clockhand.reproduce.figures import drawn
from clockhand.reproduce.judge import Claim
from clockhand.reproduce.packaged import packaged_content
from clockhand.reproduce.printed import OF_PAPER, printed
from clockhand.reproduce.run import Reproduction
from clockhand.reproduce.statements import JUDGED, by_statement, counted, headline
from clockhand.studies.locality.charts import look, panel_chart, panel_records
from clockhand.studies.locality.panels import topics
from clockhand.studies.ssd.findings import geometry_line
from clockhand.study.facts import printable, trace_label
from clockhand.study.policies import BOUND
from clockhand.study.records import Fields, Record

PAGE_TEMPLATE = Path(__file__).with_name("reproduction.html.j2")


def render_reproduction(made: Reproduction) -> str:
    """Return a reproduction as HTML text."""
    report, results = packaged_content(made.paper, "report.toml"), made.results
    page = report["page"]
    parts = [
        _part(figure, report, results)
        for figure in report["figure"]
        if any(name in results for name in figure["of"])
    ]
    traces = sum(results[of]["trace"].n_unique() for of in page["traces_of"] if of in results)
    return template(PAGE_TEMPLATE).render(
        title=headline(page["paper"], made.claims),
        verdicts=f"{title_of(page['paper'], made.claims, traces)}.",
        page=page,
        statements=_statement_rows(results["statements"], by_statement(made.claims)),
        readings=readings_text(made.claims),
        claims={
            statement: [printable(_shown(claim)) for claim in readings]
            for statement, readings in by_statement(made.claims).items()
        },
        places=_places(by_statement(made.claims)),
        paper_tables={name: _texts(table) for name, table in made.paper_tables.items()},
        parts=parts,
        facts=printable(made.facts),
        payload=payload(parts),
        geometries=[geometry_line(ssd) for ssd in made.facts.get("ssds", [])],
    )


def title_of(paper: str, claims: Collection[Claim], traces: int) -> str:
    """Return the title of a reproduction: how many claims have which verdict."""
    inputs = "1 trace" if traces == 1 else f"{traces} traces"
    counts = ", ".join(f"{count} {verdict}" for verdict, count in counted(claims).items() if count)
    others = Counter(claim.uncounted for claim in claims if claim.uncounted)
    besides = "".join(f"; {count} {why}, not counted" for why, count in others.items())
    return f"{paper} on {inputs}: of {len(claims) - others.total()} claims {counts}{besides}"


LONGEST_QUOTE = 110
"""Characters of the paper's words in a table; the claim has all of them."""

LONGEST_END = 45
"""Characters of their end where they are cut, as many sentences of a paper begin alike."""

OF_CASES = re.compile(r"\d+ of \d+ ")
"""A number that says in how many cases a statement holds."""


def quoted(claim: Claim) -> str:
    """Return the paper's words in quotation marks, cut in the middle if they are long."""
    words = claim.quote
    if len(words) > LONGEST_QUOTE:
        start = words[: LONGEST_QUOTE - LONGEST_END].rpartition(" ")[0].rstrip(",;: …")
        words = f"{start} … {words[-LONGEST_END:].partition(' ')[2]}"
    return f"\u201c{words}\u201d"


def found_text(found: str) -> str:
    """Return what was found; of cases, in how many it holds: 0 of 8 traces contradicts."""
    return typeset(f"holds on {found}" if OF_CASES.match(found) else found)


def typeset(text: str) -> str:
    """Return a text whose numbers have their minus and stay with what they are in."""
    text = re.sub(r"(?<![\w.\u2013-])-(?=\d)", "\u2212", text.replace(" %", "\u00a0%"))
    return re.sub(r"\b1 of 1 (\w+)s\b", r"1 of 1 \1", text)


def _shown(claim: Claim) -> Record:
    """What the page shows of a claim."""
    texts = {"found": found_text(claim.found), "paper": typeset(claim.paper)}
    return {**vars(claim), **texts, "words": quoted(claim), "uncounted": claim.uncounted}


def _places(claims: Mapping[str, Sequence[Claim]]) -> dict[str, str]:
    """Where the paper has each statement, with its name where another has the same words."""
    words = [quoted(readings[0]) for readings in claims.values()]
    return {
        name: printable(
            readings[0].place
            + (f": {name.replace('-', ' ')}" if words.count(quoted(readings[0])) > 1 else "")
        )
        for name, readings in claims.items()
    }


def readings_text(claims: Collection[Claim]) -> str:
    """Say how many readings the statements have, and what other claims there are."""
    many = by_statement(claims)
    text = f"These are {len(claims)} readings of {len(many)} statements, a claim each"
    unjudged = [claim for claim in claims if claim.verdict not in JUDGED or claim.uncounted]
    if unjudged:
        text += (
            f"; {len(unjudged)} of them are not counted above, since they are true by "
            "construction, go beyond the paper or cannot be judged here"
        )
    return f"{text}."


def _statement_rows(
    table: pl.DataFrame, claims: Mapping[str, Sequence[Claim]]
) -> list[tuple[str, ...]]:
    """Rows of statements: name, the paper's words, place, number, and what three readings found."""
    rows, places = [], _places(claims)
    for row in table.to_dicts():
        ends = []
        for end in ("as_written", "best", "worst"):
            verdict, _, found = row[end].partition(": ")
            ends.append(f"{verdict}: {found_text(found)}" if found else row[end])
        words = quoted(claims[row["statement"]][0])
        paper = typeset(row["paper"])
        ours = (row["statement"], words, places[row["statement"]], paper, row["holds"], *ends)
        rows.append(tuple(printable(text) for text in ours))
    return rows


def _texts(table: pl.DataFrame) -> tuple[list[tuple[str, bool]], list[tuple[str, ...]]]:
    """The columns of a table, each with whether it is numeric, and its rows as text."""
    columns = [(name, kind.is_numeric()) for name, kind in table.schema.items()]
    return columns, [tuple(number_text(value) for value in row) for row in table.iter_rows()]


def _part(figure: Record, report: Record, results: Record) -> Part:
    """One of the paper's figures, a row of panels per trace."""
    tables = [results[name] for name in figure["of"] if name in results]
    facts, label = results["facts"], figure.get("label", "{trace}")
    if figure["draw"] == "locality":
        return _locality_part(figure, tables[0], tables[1], facts)
    looks = _looks(report.get("looks", {}).get(figure.get("looks")), results)
    rows: list[tuple[str, list[Figure]]] = []
    records: list[Fields] = []
    for index, (trace, of_trace) in enumerate(drawn(figure, *tables)):
        figures = []
        for position, lines in enumerate(of_trace):
            identity = f"{figure['key']}-{index}-{position}"
            ours = [name for name in lines.series if not name.startswith(OF_PAPER)]
            marked = [_look(name, ours, looks) for name in lines.series]
            records += [{"panel": identity, **record} for record in lines.records]
            series = [(name, *mark) for name, mark in zip(lines.series, marked, strict=True)]
            chart = lines_chart(lines, identity, marked)
            figures.append(Figure(identity, lines.title, lines.caption, chart, series=series))
        rows.append((_labelled(label, trace, tables[0], facts), figures))
    return Part(figure["key"], figure["title"], figure["text"], rows, records)


def _labelled(label: str, trace: str, rows: pl.DataFrame, facts: Record) -> str:
    """Heading of the panels of a trace, or of the machine in its place."""
    if not label:
        return trace
    if "{workload}" not in label:
        return label.format(trace=trace_label(trace, facts))
    [workload] = rows.filter(pl.col("trace") == trace)["workload"].unique()
    return label.format(trace=trace_label(trace, facts), workload=workload)


def _looks(said: Record | None, results: Record) -> dict[str, Mark]:
    """The looks of series in every panel; empty if each panel has its own."""
    if said is None:
        return {}
    if "of" in said:  # Policies of a sweep, with the bound.
        names = [
            it for it in results[said["of"]]["policy"].unique(maintain_order=True) if it != BOUND
        ]
        drawn = [*marks(names, PAGE), Mark(BOUND, PAGE.muted, "", BOUND_DASH)]
    else:
        drawn = marks(said["series"], PAGE)
    return {mark.policy: mark for mark in drawn}


def _look(
    series: str, ours: Sequence[str], looks: Mapping[str, Mark]
) -> tuple[str, tuple[int, ...]]:
    if series in looks:
        return looks[series].color, looks[series].dash
    if series.startswith(OF_PAPER):
        return PAGE.muted, (1, 0)
    place = ours.index(series)
    return PAGE.series[place], ((1, 0), (7, 3), (2, 2), (8, 2, 2, 2))[place]


def _locality_part(
    figure: Record,
    localities: Mapping[str, pl.DataFrame],
    table: pl.DataFrame,
    facts: Record,
) -> Part:
    """The CRAW paper's Figures 2 to 5, as the locality report draws them."""
    traces = table["trace"].unique(maintain_order=True).to_list()
    topic = topics(localities, traces)[0]
    rows: list[tuple[str, list[Figure]]] = []
    records: list[Fields] = []
    for index, (trace, row) in enumerate(zip(traces, topic.rows, strict=True)):
        figures = []
        for own in row.panels:
            said = [it for it in figure.get("panel", ()) if it["title"] == own.title]
            behind = [it for entry in said for it in printed(entry, own.records, trace)]
            names = dict.fromkeys(it["series"] for it in behind)
            series, of_all = (*names, *own.series), [*behind, *own.records]
            panel = replace(own, series=series, records=of_all)
            identity = f"{figure['key']}-{index}-{panel.key}"
            records += panel_records(panel, identity)
            chart = panel_chart(panel, identity, CANVAS)
            looks = [(name, *look(name, PAGE)) for name in panel.series]
            figures.append(Figure(identity, panel.title, panel.caption, chart, series=looks))
        rows.append((trace_label(trace, facts), figures))
    return Part(figure["key"], figure["title"], topic.text, rows, records)
