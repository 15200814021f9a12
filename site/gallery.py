"""The gallery: live reports and players, made when the site is built."""

import contextlib
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import polars as pl

import clockhand
from clockhand.report.canvas import picture

ROOT = Path(__file__).resolve().parents[1]
GOLDEN = ROOT / "crates/policy/tests/golden"
TRACE = "traces/tar-gzip.parquet"
"""Reports show the names of traces as they are given, from the root of the repository on."""

TEXTBOOK = (7, 0, 1, 2, 0, 3, 0, 4, 2, 3, 0, 3, 2, 1, 2, 0, 1, 7, 0, 1)
"""Where a policy has no step table: the references of the textbooks, odd pages written."""

SHOWN_FRAMES = 4
PAGE_BYTES = 4096
RENAMED = {"window": "window_pages"}
"""Parameters that have other names in step tables."""

STEP = re.compile(r"[RW]\d+")

BLOCK_PAGES = 4
"""Pages of a block in the step tables of write buffers."""

DRIVE = f"dnv-textbook:size=256KiB,pages_per_block={BLOCK_PAGES}"
"""So small that what buffers flush makes it collect and erase."""

BUFFERED = STEP.findall(
    "W0 W1 W4 R8 W5 W9 W12 W1 W13 R0 W2 W3 W20 W21 W6 R5 W16 W17 W18 W19 W7 W24 W0 W9 R13 W28"
)
"""Where a write buffer has no step table: pages alone, blocks in order, and some of both again."""

SHOWN_PAGES = 6


def _three_policies() -> Any:
    return clockhand.run_simulation(TRACE, policies="clock,craw,min", memory="4%,6%,10%,20%,40%")


def _all_policies() -> Any:
    return clockhand.run_simulation(
        TRACE, policies="all", memory="4%,6%,10%,20%,40%", bound_effort=0
    )


def _all_traces() -> Any:
    return clockhand.run_simulation(
        "traces/*.parquet", policies="clock,lru,cflru,craw,craw-a,credit-clock,min",
        memory="5%,10%,20%",
    )  # fmt: skip


def _all_policies_all_traces() -> Any:
    return clockhand.run_simulation(
        "traces/*.parquet", policies="all", memory="5%,20%", bound_effort=0
    )


def _locality() -> Any:
    return clockhand.locality(TRACE)


def _buffers() -> Any:
    recipe = "zipf:skew=1.1,footprint=64MiB,reads=30%"
    workload = clockhand.synthesize(recipe, requests=60_000, seed=3)
    names = ("fab", "cbm", "clock-dnv", "lru")
    buffers = [f"{name}:total={size}MiB" for name in names for size in (1, 2, 4)]
    return clockhand.run_ssd(workload, buffers=buffers, ssds="dnv-textbook:size=128MiB")


def _translation() -> Any:
    return clockhand.translate(TRACE, memory="20%", ratio=[1, 10, 100])


def _filecache() -> Any:
    return clockhand.filecache(
        TRACE, capacity="5%,10%,20%", devices="hdd,slc-nand",
        admissions="always,second-touch,tinylfu",
    )  # fmt: skip


REPORTS: dict[str, tuple[str, Callable[[], Any]]] = {
    "simulate-3": ("Three policies at five memory sizes", _three_policies),
    "simulate-all": ("All policies, with the lower bound", _all_policies),
    "simulate-traces": ("Seven policies on all traces that come with Clockhand", _all_traces),
    "simulate-all-traces": ("All policies on all of these traces", _all_policies_all_traces),
    "locality": ("How reads and writes recur", _locality),
    "ssd": ("Write buffers in front of a flash drive (synthetic)", _buffers),
    "translate": ("Page sizes and TLBs", _translation),
    "filecache": ("Whether a file cache pays", _filecache),
}


def gallery(is_whole: bool) -> dict[str, str]:
    """Return the pages of the gallery by their paths; without what they show if not whole."""
    policies = [
        row["name"] for row in clockhand.policies().iter_rows(named=True) if row["kind"] != "bound"
    ]
    buffers = clockhand.write_buffers()["name"].to_list()
    lines = [
        "# Gallery\n",
        "Each report is one page with its data inside, as `--report` writes it; they were made "
        "when this site was. The pictures are their leading figures, as `--plots` writes them.\n",
        *(
            f"### [{title}](reports/{name}.html)\n\n![{title}](pictures/{name}.svg)\n"
            for name, (title, _) in REPORTS.items()
        ),
        "\n## Players\n",
        "Every step of a policy, as `clockhand watch` shows it: on the references of a step table "
        "of its tests, or on those of the textbooks.\n",
        *(f"* [{name}](players/{name}.html)" for name in policies),
    ]
    lines += [
        "\n## Write buffers\n",
        "The same for the write buffers of flash drives, on a drive of blocks of four pages.\n",
        *(f"* [{name}](buffers/{name}.html)" for name in buffers),
    ]
    made = {"gallery/index.md": "\n".join(lines) + "\n"}
    for name, (_, make) in REPORTS.items():
        page, figure = report(make) if is_whole else ("", "")
        made[f"gallery/reports/{name}.html"] = page
        made[f"gallery/pictures/{name}.svg"] = figure
    for name in policies:
        made[f"gallery/players/{name}.html"] = player(name) if is_whole else ""
    for name in buffers:
        made[f"gallery/buffers/{name}.html"] = buffer_player(name) if is_whole else ""
    return made


def report(make: Callable[[], Any]) -> tuple[str, str]:
    """Return a report of the gallery as HTML, and its leading figure as SVG."""
    with contextlib.chdir(ROOT):
        made = make()
    leading = next(iter(made.specifications().values()))
    return str(made._rendered(())), picture(leading, "svg").decode()


def player(policy: str) -> str:
    """Return the player of a policy on the longest of its step tables, or the textbooks' string."""
    best = max(_step_tables(policy), key=lambda table: len(table["trace"]), default=None)
    if best is None:
        steps = [f"{'RW'[page % 2]}{page}" for page in TEXTBOOK]
        return _played(policy, steps, SHOWN_FRAMES, "the textbooks' string")
    parameters = ",".join(f"{name}={value}" for name, value in _parameters(best).items())
    return _played(
        f"{policy}:{parameters}" if parameters else policy, best["trace"], best["S"], "a step table"
    )


def buffer_player(buffer: str) -> str:
    """Return the player of a write buffer on the longest of its step tables, or on ours."""
    tables = [json.loads(path.read_text()) for path in sorted(GOLDEN.glob("buffer_*.json"))]
    own = [table for table in tables if table["policy"].replace("_", "-") == buffer]
    best = max(own, key=lambda table: len(table["trace"]), default=None)
    steps, name = BUFFERED, "reads and writes of eight blocks"
    settings: dict[str, Any] = {"total": SHOWN_PAGES}
    if best is not None:
        steps, name, settings = best["trace"], "a step table", _settings(best["params"])
    elif "dram_share" in clockhand.write_buffers(buffer):
        settings["dram_share"] = "1/2"
    parameters = ",".join(f"{key}={value}" for key, value in settings.items())
    return clockhand.watch_buffers(
        _trace(steps, name), buffers=f"{buffer}:{parameters}", ssd=DRIVE
    ).page()


def _settings(given: dict[str, Any]) -> dict[str, Any]:
    """The parameters of a step table as the buffer takes them."""
    assert given["ppb"] == BLOCK_PAGES, "the drive has blocks of this size"
    sizes = ("capacity", "dram", "nvm", "ppb")
    own = {key: str(value).lower() for key, value in given.items() if key not in sizes}
    if "nvm" not in given:
        return {"total": given["capacity"], **own}
    total = given["dram"] + given["nvm"]
    return {"total": total, "dram_share": f"{given['dram']}/{total}", **own}


def _step_tables(policy: str) -> list[dict[str, Any]]:
    """The step tables of a policy whose steps are all reads and writes of pages."""
    listed = clockhand.policies().row(by_predicate=pl.col("name") == policy, named=True)
    known = set(listed["parameters"].split(", "))
    tables = [json.loads(path.read_text()) for path in sorted(GOLDEN.glob("page_*.json"))]
    return [
        table
        for table in tables
        if table["policy"].replace("_", "-") == policy
        and all(map(STEP.fullmatch, table["trace"]))
        and _parameters(table).keys() <= known
    ]


def _parameters(table: dict[str, Any]) -> dict[str, Any]:
    return {RENAMED.get(name, name): value for name, value in table["params"].items()}


def _played(policy: str, steps: Sequence[str], frames: int, name: str) -> str:
    return clockhand.watch_policies(_trace(steps, name), policies=policy, frames=frames).page()


def _trace(steps: Sequence[str], name: str) -> clockhand.Trace:
    return clockhand.Trace.from_arrays(
        [step[0] for step in steps], [int(step[1:]) * PAGE_BYTES for step in steps], name=name
    )
