"""What each predictor of read-ahead brings to whole programs at a third of their memory.

Each program runs with all predictors, without each of them, and with none, in turns. Of every run
the waits are kept: read operations that the program waits for, and the time that it waits. Waits
hardly depend on what else the machine does, times do. See README.md.
"""

import argparse
import json
import os
import tempfile
from pathlib import Path

import polars as pl
from pager import RESULTS, footprint, programs, run_rows, small_programs

PREDICTORS = ("slots", "streams", "pointers", "offsets")
# It nearly fits, and takes minutes at a third.
LEFT_OUT = ("xz",)
MEASURED = ("read_operations", "pages_read_in_vain", "read_wait_us", "seconds")


def choices() -> dict[str, str]:
    """Return what ``--read-ahead`` says of predictors, by the name of the choice."""
    without = {
        f"without {left_out}": ",".join(name for name in PREDICTORS if name != left_out)
        for left_out in PREDICTORS
    }
    return {"all": ",".join(PREDICTORS), **without, "none": "0"}


def measured(name: str, command: list[str], folder: Path, rounds: int) -> pl.DataFrame:
    """Return medians per choice, and the waits over those with all predictors."""
    options = ["--policy=clock", f"--frames={footprint(command, folder) // 3}", "--no-simulate"]
    runs = pl.concat(
        run_rows([*options, f"--read-ahead={given}"], command, folder)
        .select(pl.lit(choice).alias("choice"), pl.col(*MEASURED).sum())
        .cast({"read_operations": pl.Float64, "pages_read_in_vain": pl.Float64})
        for _ in range(rounds)
        for choice, given in choices().items()
    )
    rows = runs.group_by("choice", maintain_order=True).agg(pl.col(*MEASURED).median())
    waits = pl.col("read_operations", "read_wait_us")
    over_all = (waits / waits.first()).name.suffix("_over_all")
    return rows.select(pl.lit(name).alias("program"), pl.all(), over_all)


def main() -> None:
    """Measure, print, and write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=RESULTS / "predictors.json")
    options = parser.parse_args()
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(dir=options.out.resolve().parent) as temporary:
        folder = Path(temporary)
        commands = {**programs(folder), **small_programs(folder)}
        rows = pl.concat(
            measured(name, command, folder, options.rounds)
            for name, command in commands.items()
            if name not in LEFT_OUT
        )
    machine = {"cores": os.cpu_count(), "load_average": [load, os.getloadavg()[0]]}
    words = f"benches/predictors.py --rounds {options.rounds}"
    result = {"command": words, "machine": machine, "rows": rows.to_dicts()}
    options.out.write_text(json.dumps(result, indent=1) + "\n")
    with pl.Config(tbl_rows=-1, tbl_cols=-1, tbl_width_chars=160):
        print(rows)


if __name__ == "__main__":
    main()
