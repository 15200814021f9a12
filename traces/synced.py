"""Writes the stand-ins of the CLOCK-DNV paper's traces with a sync after every 16 requests.

    .venv/bin/python traces/synced.py FOLDER

Its CLOCK-DNV ignores FLUSH, as its NVM may; buffers in DRAM may not. ``clockhand reproduce
clock-dnv --traces FOLDER`` takes the traces along, and lets all buffers heed the syncs.
"""

import sys
import tempfile
from pathlib import Path

import polars as pl

import clockhand

RECIPES = Path(__file__).resolve().parents[1] / "experiments/recipes"
STAND_INS = {
    "financial": RECIPES / "financial-wide-stand-in.toml",
    "camwebdev": RECIPES / "camwebdev-wide-stand-in.toml",
    "filebench": "filebench-random-rw-stand-in",
}
EVERY = 16
"""Requests between two syncs, as often as a database that commits small transactions."""


def synced(recipe: str | Path, path: Path) -> None:
    """Write the requests of a recipe, and the syncs between them, as calls on one file."""
    with tempfile.TemporaryDirectory() as folder:
        requests, events = Path(folder, "requests.csv"), Path(folder, "events.txt")
        clockhand.convert_traces(clockhand.synthesize(recipe), requests, watch=False)
        table = pl.read_csv(requests, comment_prefix="#")
        calls = (
            f"c{op.lower()[0]} f1 {address} {size}\n" + ("sync f1\n" if number % EVERY == 0 else "")
            for number, (op, address, size) in enumerate(
                table.select("op", "address", "size").iter_rows(), start=1
            )
        )
        events.write_text("".join(calls), encoding="ascii")
        clockhand.convert_traces(clockhand.Trace(events, format="events"), path, watch=False)


if __name__ == "__main__":
    for name, recipe in STAND_INS.items():
        synced(recipe, Path(sys.argv[1]) / f"{name}-synced.parquet")
