"""`experiments/mixes.py`: what is made of the cells of programs that share a memory."""

from importlib import import_module
from pathlib import Path

import polars as pl
import pytest

EXPERIMENTS = Path(__file__).resolve().parents[2] / "experiments"
TIMES = {
    "clock": 100.0, "lru": 200.0, "craw": 80.0, "cflru:window_share=1/2": 150.0,
    "cflru:window_share=1/4": 140.0, "cflru-dynamic": 190.0,
}  # fmt: skip


def cells(trace: str, frames: int, **other: float) -> list[dict[str, object]]:
    return [
        {"trace": trace, "policy": policy, "frames": frames, "flush_at_end": False,
         "io_time_us": other.get(policy, time), "write_ios": 0 if frames == 1 else 5}
        for policy, time in TIMES.items()
    ]  # fmt: skip


def test_means_are_of_mixes_and_of_the_best_window(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(EXPERIMENTS)
    mixes = import_module("mixes")
    rows = [
        *cells("traces/cc1.parquet", 10),
        *cells("traces/cc1.parquet", 20, craw=60.0),
        *cells("traces/cc1.parquet", 1, craw=1.0),
        *(row for name in "abcde" for row in cells(f"datasets/mixed/3x100-{name}.parquet", 10)),
        *cells("datasets/mixed/3x100-f.parquet", 10, craw=200.0),
    ]
    table = mixes.means(mixes.changes(pl.DataFrame(rows)))
    found = {
        (row["claim"], row["programs"], row["turn"]): row for row in table.iter_rows(named=True)
    }
    alone = found["CRAW over CLOCK", 1, None]
    # Where CLOCK writes nothing, nothing can be saved: one frame is left out.
    assert (alone["mixes"], alone["cells"]) == (1, 2) and alone["mean"] == pytest.approx(-0.3)
    mixed = found["CRAW over CLOCK", 3, 100]
    assert (mixed["mixes"], mixed["cells"], mixed["lower"]) == (6, 6, 5)
    assert mixed["mean"] == pytest.approx((5 * -0.2 + 1) / 6)
    assert mixed["from"] < mixed["mean"] < mixed["to"]
    assert found["CFLRU-static over LRU", 3, 100]["mean"] == pytest.approx(-0.3)
    assert found["CFLRU-dynamic over LRU", 3, 100]["mean"] == pytest.approx(-0.05)
    assert found["CFLRU-static over LRU", 3, 100]["verdict"] == "reproduced"
    assert found["CFLRU-dynamic over LRU", 3, 100]["verdict"] == "sign only"
