"""Write what the traces are into the tables of MANIFEST.md; `make traces` runs it.

    .venv/bin/python traces/manifest.py [--check]

Every figure is read from the traces, or from the facts that are kept of whole sessions, which are
not committed; those of the CRAW paper are its Table 2. With `--check` nothing is written.
"""

import json
import sys
from pathlib import Path
from typing import Any

from larger import TOO_SHORT, whole_sessions
from sessions import SESSIONS, Session

import clockhand

TRACES = Path(__file__).parent
MANIFEST = TRACES / "MANIFEST.md"
FACTS = TRACES / "whole-sessions.json"
KEPT = (
    "classes", "references", "read_references", "write_references", "footprint_pages",
    "page_bytes", "sha256",
)  # fmt: skip
"""Facts of whole sessions that are committed in place of them."""
BEGIN, END = "<!-- tables: begin -->", "<!-- tables: end -->"
PAPER_TABLE_2 = {
    "xmms": ("8,050 kB", "1 : 5.13", "1,168,939"),
    "gqview": ("7,430 kB", "1 : 1.30", "610,685"),
    "gedit": ("14,460 kB", "12.05 : 1", "1,733,763"),
    "freecell": ("10,080 kB", "7.16 : 1", "490,175"),
    "kghostview": ("17,390 kB", "13.93 : 1", "1,546,135"),
    "tar_gzip": ("752 kB", "5.23 : 1", "4,535"),
}


def tables() -> str:
    """The tables: what was done, what came of it, and whole sessions."""
    done = ["| trace | what it does | command |", "|---|---|---|"]
    came = [
        "| trace | records I, R, A, W | references, `paper` | footprint | read : write in `paper`, "
        "`bus`, `fault` | references per page | the paper's: program, footprint, read : write, "
        "references, references per page |",
        "|---|---|---|---|---|---|---|",
    ]
    for session in SESSIONS:
        done.append(_done(session))
        came.append(_came(session))
    return "\n".join([*done, "", *came, "", *_whole_sessions()])


def _whole_sessions() -> list[str]:
    """The table of whole sessions, from their facts; the traces are not committed."""
    table = [
        "| whole session | stands for | what it does | records I, R, A, W | references, `paper` "
        "| footprint | read : write | references per page | the paper's references per page "
        "| SHA-256 |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    facts = kept_facts()
    for session in whole_sessions():
        if session.name not in facts:
            table.append(f"| `whole/{session.name}` | | not captured yet | | | | | | | |")
            continue
        kept = facts[session.name]
        theirs = session.equivalent_of
        table.append(
            f"| `whole/{session.name}` | {theirs or '–'} | {kept['session']} | {_classes(kept)} "
            f"| {kept['references']:,} | {_footprint_mib(kept):.1f} MiB | {_ratio(kept)} "
            f"| {_per_page(kept):,.0f} | {_papers_per_page(theirs) if theirs else '–'} "
            f"| {kept['sha256']} |"
        )
    short = [f"`{name}`: {why}" for name, why in TOO_SHORT.items()]
    return [*table, "", f"Not among them, since they are short: {'; '.join(short)}."]


def kept_facts() -> dict[str, dict[str, Any]]:
    """What is kept of each whole session."""
    facts: dict[str, dict[str, Any]] = json.loads(FACTS.read_text())
    return facts


def keep_facts() -> None:
    """Take the facts of the whole sessions that are on this machine; of others they stay."""
    facts = kept_facts()
    for session in whole_sessions():
        path = TRACES / "whole" / f"{session.name}.parquet"
        if path.exists():
            info = clockhand.Trace(path).info()
            facts[session.name] = {
                "session": dict(info["labels"])["session"],
                **{name: info[name] for name in KEPT},
            }
    FACTS.write_text(json.dumps(facts, indent=2) + "\n")


def manifest() -> str:
    """What MANIFEST.md should be: the tables between its two marks, and the rest as it is."""
    before, _, rest = MANIFEST.read_text().partition(BEGIN)
    after = rest.partition(END)[2]
    return f"{before}{BEGIN}\n\n{tables()}\n\n{END}{after}"


def _info(session: Session, view: str) -> dict[str, Any]:
    return clockhand.Trace(TRACES / f"{session.name}.parquet", view=view).info()


def _done(session: Session) -> str:
    labels = dict(_info(session, "paper")["labels"])
    command = labels["command"].replace("|", "\\|")
    window = f"; {labels['window']}" if "window" in labels else ""
    return f"| `{session.name}.parquet` | {session.does}{window} | `{command}` |"


def _came(session: Session) -> str:
    infos = {view: _info(session, view) for view in ("paper", "bus", "fault")}
    paper = infos["paper"]
    ratios = ", ".join(_ratio(info) for info in infos.values())
    theirs = "–"
    if session.equivalent_of is not None:
        footprint, ratio, references = PAPER_TABLE_2[session.equivalent_of]
        each = _papers_per_page(session.equivalent_of)
        theirs = f"{session.equivalent_of}: {footprint}, {ratio}, {references}, {each}"
    return (
        f"| `{session.name}` | {_classes(paper)} | {paper['references']:,} "
        f"| {_footprint_mib(paper):.1f} MiB | {ratios} | {_per_page(paper):,.0f} | {theirs} |"
    )


def _papers_per_page(workload: str) -> str:
    footprint, _, references = PAPER_TABLE_2[workload]
    pages = float(footprint.removesuffix(" kB").replace(",", "")) / 4
    return f"{int(references.replace(',', '')) / pages:,.0f}"


def _classes(info: dict[str, Any]) -> str:
    return ", ".join(f"{count:,}" for count in info["classes"].values())


def _footprint_mib(info: dict[str, Any]) -> float:
    return float(info["footprint_pages"] * info["page_bytes"] / 2**20)


def _per_page(info: dict[str, Any]) -> float:
    return float(info["references"] / info["footprint_pages"])


def _ratio(info: dict[str, Any]) -> str:
    reads, writes = info["read_references"], info["write_references"]
    return f"{reads / writes:.2f} : 1" if reads >= writes else f"1 : {writes / reads:.2f}"


if __name__ == "__main__":
    if sys.argv[1:] == ["--check"]:
        sys.exit(manifest() != MANIFEST.read_text() and "MANIFEST.md is not what the traces are")
    keep_facts()
    MANIFEST.write_text(manifest())
