"""Judges a paper's claims by whole sessions or other parts, beside the counts that are kept.

    .venv/bin/python experiments/whole_sessions.py PAPER FOLDER [PART...]

The parts of `experiments/PAPER/experiment.toml` on whole sessions (`traces/capture_whole.py`) are
computed from what FOLDER has in `whole`; if parts are named, those are. Their tables are kept. `-`
is no FOLDER, for parts on what is committed. Everything else is taken from
`experiments/results/PAPER`, so that hours need not be computed again: claims, statements and
thresholds are judged from both. `clockhand reproduce PAPER --traces FOLDER` computes all of it.
"""

import sys
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from clockhand.measure.measured import Measured
from clockhand.report.paper_tables import PaperTable, table_files
from clockhand.reproduce import judge, read_paper_experiment, reproduce
from clockhand.reproduce.experiment import WHOLE
from clockhand.reproduce.packaged import packaged_content
from clockhand.reproduce.statements import claim_table, rule_thresholds, statements, thresholds
from clockhand.studies.ssd.findings import FAMILY
from clockhand.study.columns import schema

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "experiments/results"
SLUGS = {
    "clock-dnv": {"real": "real-traces", "timed": "no rows"},
    "scm": {"desktop": "rows"},
}
"""Kept tables that are not called as the part of the experiment that they are of."""
JUDGED = ("claims", "statements", "thresholds", "rules")
COMMAND, TRACE = "# command: ", "# trace: "
MEASURED = "measurement"
NONE = "-"
"""Stands for no folder."""


def kept_results(paper: str, folder: str) -> dict[str, pl.DataFrame | Measured]:
    """Return the values that judge a paper's claims, from its kept tables."""
    options: dict[str, Any] = {"infer_schema_length": None}
    if paper == "clock-dnv":
        options = {"schema_overrides": schema("ssd")}
    results: dict[str, pl.DataFrame | Measured] = {}
    for name in packaged_content(paper, "claims.toml")["needs"]:
        file = RESULTS / folder / f"{slug_of(paper, name)}.csv"
        if not file.exists():
            continue
        rows = pl.read_csv(file, comment_prefix="#", **options)
        if paper == "clock-dnv":
            rows = rows.with_columns(FAMILY) if "buffer" in rows else rows
        if paper == "scm":
            rows = rows.with_columns(pl.selectors.contains("ratio").cast(pl.Float64))
        results[name] = rows
    asked = read_paper_experiment(paper, ROOT / f"experiments/{paper}/experiment.toml")
    measured = {name: it["file"] for name, (kind, it) in asked.beside.items() if kind == MEASURED}
    return results | measured


def slug_of(paper: str, part: str) -> str:
    """Return how the kept table of a part is called."""
    return SLUGS.get(paper, {}).get(part, part.replace("_", "-"))


def judged(paper: str, results: Mapping[str, pl.DataFrame | Measured]) -> dict[str, pl.DataFrame]:
    """Return the tables of a paper's verdicts, by their names."""
    claims = judge(paper, results)
    return {
        "claims": claim_table(claims),
        "statements": statements(claims),
        "thresholds": thresholds(paper, results),
        "rules": rule_thresholds(paper, results),
    }


def main() -> None:
    """Compute the sessions that are there, and write the tables of the paper that follow."""
    paper, folder, *wanted = sys.argv[1:]
    asked = read_paper_experiment(
        paper,
        ROOT / f"experiments/{paper}/experiment.toml",
        traces=None if folder == NONE else folder,
    )
    sessions = [
        (name, part)
        for name, part in asked.parts
        if (name in wanted if wanted else all(it.endswith(WHOLE) for it in part.names))
    ]
    if not sessions:
        sys.exit(f"{folder} has no whole session and no such part that {paper} asks for")
    named = folder if folder == NONE else "FOLDER"
    words = (".venv/bin/python experiments/whole_sessions.py", paper, named, *wanted)
    made = reproduce(replace(asked, parts=tuple(sessions), beside={}), command=" ".join(words))
    files = table_files(
        RESULTS / paper, [it for it in made.tables if it.slug not in JUDGED], made.facts
    )
    for path, content in files.items():
        path.write_bytes(content)
    entries = {it["slug"]: it["title"] for it in packaged_content(paper, "report.toml")["kept"]}
    for slug, table in judged(paper, kept_results(paper, paper)).items():
        path = RESULTS / paper / f"{slug}.csv"
        [(_, content)] = table_files(
            RESULTS / paper, [PaperTable(entries[slug], slug, table)], made.facts
        ).items()
        now = merged(path.read_text(), content.decode(), dict(sessions))
        path.write_text(now, encoding="utf-8")


def merged(before: str, now: str, parts: Collection[str] = ()) -> str:
    """Return a table as it is now, with the commands and traces of both its makings.

    Args:
        before: The table before.
        now: The table now.
        parts: What was computed now: the same command with some of them alone is left out.
    """
    old, new = (
        [line for line in text.splitlines() if line.startswith("#")] for text in (before, now)
    )
    title, made_by = old[0], [it for it in old[1:] if not it.startswith(TRACE)]
    [command] = (it for it in new if it.startswith(COMMAND))
    commands = [
        it
        for it in made_by
        if it.startswith(COMMAND)
        and not (it.startswith(command) and {*it.removeprefix(command).split()} <= {*parts})
    ]
    commands.append(command)
    others = [it for it in made_by if not it.startswith(COMMAND)]
    own = {it.partition(", SHA")[0] for it in new if it.startswith(TRACE)}
    traces = [it for it in old if it.startswith(TRACE) and it.partition(", SHA")[0] not in own]
    traces += [it for it in new if it.startswith(TRACE)]
    rest = [line for line in now.splitlines() if not line.startswith("#")]
    return "\n".join([title, *commands, *others, *traces, *rest, ""])


if __name__ == "__main__":
    main()
