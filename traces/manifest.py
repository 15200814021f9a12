"""Write what the committed traces are into the tables of MANIFEST.md; `make traces` runs it.

Every figure is read from the traces; those of the CRAW paper are its Table 2.
"""

from pathlib import Path
from typing import Any

from larger import LARGER
from sessions import SESSIONS, Session

import clockhand

TRACES = Path(__file__).parent
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
    """The table of the sessions that are captured whole here, and the names of the others."""
    table = [
        "| whole session | what it does | records I, R, A, W | references, `paper` | footprint "
        "| read : write | references per page | SHA-256 |",
        "|---|---|---|---|---|---|---|---|",
    ]
    absent = []
    for session in (*SESSIONS, *LARGER):
        if not (TRACES / "whole" / f"{session.name}.parquet").exists():
            absent.append(f"`{session.name}`")
            continue
        info = clockhand.Trace(TRACES / "whole" / f"{session.name}.parquet").info()
        table.append(
            f"| `whole/{session.name}` | {session.does} | {_classes(info)} "
            f"| {info['references']:,} | {_footprint_mib(info):.1f} MiB | {_ratio(info)} "
            f"| {_per_page(info):,.0f} | {info['sha256']} |"
        )
    if not absent:
        return table
    return [*table, "", f"Not captured whole on the machine of this table: {', '.join(absent)}."]


def write_manifest() -> None:
    """Put the tables between the two marks of MANIFEST.md."""
    manifest = TRACES / "MANIFEST.md"
    before, _, rest = manifest.read_text().partition(BEGIN)
    after = rest.partition(END)[2]
    manifest.write_text(f"{before}{BEGIN}\n\n{tables()}\n\n{END}{after}")


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
        pages = float(footprint.removesuffix(" kB").replace(",", "")) / 4
        each = int(references.replace(",", "")) / pages
        theirs = f"{session.equivalent_of}: {footprint}, {ratio}, {references}, {each:,.0f}"
    return (
        f"| `{session.name}` | {_classes(paper)} | {paper['references']:,} "
        f"| {_footprint_mib(paper):.1f} MiB | {ratios} | {_per_page(paper):,.0f} | {theirs} |"
    )


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
    write_manifest()
