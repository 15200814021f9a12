"""Write what the mobile stand-ins are into the tables of MANIFEST.md; `make traces` runs it.

Every figure is read from the traces; what is not captured here keeps no row.
"""

from pathlib import Path

from capture import SESSIONS, Session

import clockhand

HERE = Path(__file__).parent
BEGIN, END = "<!-- tables: begin -->", "<!-- tables: end -->"


def tables() -> str:
    """The two tables: what was done, and what came of it."""
    done = ["| trace | stands for | what it does |", "|---|---|---|"]
    done += [
        f"| `{session.name}.parquet` | {session.stands_for} | {session.does} |"
        for session in SESSIONS
    ]
    came = [
        "| trace | records | I, R, A, W | footprint | references, `paper` | processes | SHA-256 |",
        "|---|---|---|---|---|---|---|",
    ]
    came += [
        row
        for session in SESSIONS
        for file in (f"{session.name}.parquet", f"whole/{session.name}.parquet")
        for row in _came(session, file)
    ]
    return "\n".join([*done, "", *came])


def _came(session: Session, file: str) -> list[str]:
    if not (HERE / file).exists():
        return []
    info = clockhand.Trace(HERE / file).info()
    classes = ", ".join(f"{count:,}" for count in info["classes"].values())
    footprint_mib = info["footprint_pages"] * info["page_bytes"] / 2**20
    window = dict(info["labels"])["window"]
    return [
        f"| `{file}` | {window} | {classes} | {footprint_mib:.1f} MiB | {info['references']:,} "
        f"| {info['streams']} | {info['sha256']} |"
    ]


def write_manifest() -> None:
    """Put the tables between the two marks of MANIFEST.md."""
    manifest = HERE / "MANIFEST.md"
    before, _, rest = manifest.read_text().partition(BEGIN)
    after = rest.partition(END)[2]
    manifest.write_text(f"{before}{BEGIN}\n\n{tables()}\n\n{END}{after}")


if __name__ == "__main__":
    write_manifest()
