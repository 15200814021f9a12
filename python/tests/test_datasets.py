"""Datasets that were damaged, made to ask for much, or stand where little can be done."""

import fcntl
import os
import random
import shutil
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from clockhand import ClockhandError
from clockhand.datasets import dataset as kept
from clockhand.sweep import Dataset, read_experiment, run_sweep
from conftest import Clockhand, assert_one_sentence, os_course, scattered_pages

EXPERIMENT = """
question = "q"
expected = "e"
traces = "t.trace"
policies = ["clock", "lru"]
frames = [2, 3]
dataset = "d"
"""


def experiment_in(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "t.trace").write_text(os_course(scattered_pages(60, 9)))
    (folder / "e.toml").write_text(EXPERIMENT)
    return folder / "e.toml"


def part_of(experiment: Path) -> Path:
    [part] = (experiment.parent / "d").glob("part-*.parquet")
    return part


@pytest.mark.parametrize("name", ["study [v2]", "~", "~root", "a*b?", "{x,y}", "\N{SNOWMAN} #1"])
def test_folders_may_have_any_name(
    name: str, tmp_path: Path, clockhand: Clockhand, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Polars took the names of parts for patterns, and said that good ones were damaged."""
    experiment = experiment_in(tmp_path / name / "below")
    monkeypatch.chdir(tmp_path)
    there = f"{name}/below"
    run = clockhand("sweep", f"{there}/e.toml", "--quiet", "--format", "csv")
    assert run.code == 0 and run.out.count(b"\n") == 5, run.err
    shown = clockhand("report", f"{there}/d", "--format", "csv")
    assert shown.code == 0 and shown.out.count(b"\n") == 5, shown.err
    assert run_sweep(read_experiment(f"{there}/e.toml")).computed == 0
    assert Dataset(experiment.parent / "d").cells().height == 4


def test_a_damaged_part_gives_no_other_numbers(tmp_path: Path) -> None:
    """One bit made 72,340,172,838,076,889 evictions of 217, with exit code 0."""
    experiment = experiment_in(tmp_path)
    run_sweep(read_experiment(experiment))
    part, draw = part_of(experiment), random.Random(1)
    good = part.read_bytes()
    for _ in range(60):
        content = bytearray(good)
        content[draw.randrange(len(good))] ^= 1 << draw.randrange(8)
        part.write_bytes(content)
        with pytest.raises(ClockhandError, match=r"is damaged or no part of a dataset; delete it"):
            Dataset.found(tmp_path / "d").report()
    for wrong in (good[:-1], good[: len(good) // 2], b"", good + b"\0"):
        part.write_bytes(wrong)
        with pytest.raises(ClockhandError, match="is damaged"):
            run_sweep(read_experiment(experiment))
    part.unlink()
    assert run_sweep(read_experiment(experiment)).computed == 4


def test_parts_that_changed_places_are_noticed(tmp_path: Path) -> None:
    one, other = (experiment_in(tmp_path / name) for name in ("one", "other"))
    for experiment in (one, other):
        run_sweep(read_experiment(experiment))
    shutil.copy(part_of(one), part_of(other))
    with pytest.raises(ClockhandError, match="is damaged"):
        run_sweep(read_experiment(other))


def test_a_part_without_a_checksum_is_read(tmp_path: Path) -> None:
    experiment = experiment_in(tmp_path)
    rows = run_sweep(read_experiment(experiment)).rows
    part_of(experiment).rename(tmp_path / "d/part-0123456789abcdef.parquet")
    again = run_sweep(read_experiment(experiment))
    assert again.computed == 0
    assert_frame_equal(again.rows, rows)


def rewritten(part: Path, rows: pl.DataFrame, **options: object) -> int:
    """Write other rows into a part, with its facts and the checksum that fits; its bytes."""
    facts = {k: v for k, v in pl.read_parquet_metadata(part).items() if k != "ARROW:schema"}
    rows.write_parquet(part, metadata=facts, **options)  # type: ignore[arg-type]
    with open(part, "rb") as file:
        named = part.with_name(f"part-{kept._checksum(file)}.parquet")
    part.rename(named)
    return named.stat().st_size


def test_a_small_part_that_asks_for_much_is_refused(tmp_path: Path, clockhand: Clockhand) -> None:
    """2,000,000 equal rows in 147 kB took 3 GB."""
    experiment = experiment_in(tmp_path)
    run_sweep(read_experiment(experiment))
    rows = pl.read_parquet(part_of(experiment)).head(1)
    many = rows[[0] * 1_000_000]
    assert rewritten(part_of(experiment), many, row_group_size=250_000) < 200_000
    run = clockhand("report", "d", "--format", "csv")
    assert run.code == 1
    assert_one_sentence(run)
    assert "more than a part of a dataset does (512 MiB)" in run.err, run.err


def test_a_long_text_in_a_part_counts_as_it_is_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiment = experiment_in(tmp_path)
    run_sweep(read_experiment(experiment))
    rows = pl.read_parquet(part_of(experiment))
    long = rows.with_columns(policy=pl.lit("x" * (8 << 20)))
    assert rewritten(part_of(experiment), long) < 40_000
    monkeypatch.setattr(kept, "MOST_BYTES", 4 << 20)
    with pytest.raises(ClockhandError, match=r"asks for .* of memory, more than"):
        Dataset.found(tmp_path / "d").report()


def test_a_complete_dataset_that_cannot_be_written_to_is_analysed(
    tmp_path: Path, clockhand: Clockhand
) -> None:
    experiment = experiment_in(tmp_path)
    rows = run_sweep(read_experiment(experiment)).rows
    # What stands for a read-only file system: root may write anywhere else.
    lock = tmp_path / "d/.lock"
    lock.unlink()
    lock.mkdir()
    again = run_sweep(read_experiment(experiment))
    assert again.computed == 0
    assert_frame_equal(again.rows, rows)
    experiment.write_text(EXPERIMENT.replace("[2, 3]", "[2, 3, 4]"))
    run = clockhand("sweep", "e.toml", "--quiet")
    assert run.code == 1
    assert_one_sentence(run)
    assert "d" in run.err and os.strerror(21) in run.err


# Once it was waited for without end.
@pytest.mark.parametrize("name", [".lock", "part-0.parquet"])
def test_a_pipe_in_a_datasets_folder_is_a_sentence(
    name: str, tmp_path: Path, clockhand: Clockhand
) -> None:
    experiment_in(tmp_path)
    (tmp_path / "d").mkdir()
    os.mkfifo(tmp_path / "d" / name)
    run = clockhand("sweep", "e.toml", "--quiet")
    assert run.code == 1
    assert_one_sentence(run)
    assert f"d/{name} is a pipe or a device, where a file is needed; remove it" in run.err


def test_a_lock_that_another_program_keeps_is_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiment = experiment_in(tmp_path)
    run_sweep(read_experiment(experiment))
    monkeypatch.setattr(kept, "LOCK_PATIENCE_S", 0.1)
    with open(tmp_path / "d/.lock", "rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(ClockhandError, match="is locked by another program"):
            run_sweep(read_experiment(experiment))


@pytest.mark.parametrize("change", ["columns", "types", "facts", "study"])
def test_a_file_that_is_no_part_is_a_sentence(
    change: str, tmp_path: Path, clockhand: Clockhand
) -> None:
    experiment = experiment_in(tmp_path)
    run_sweep(read_experiment(experiment))
    part = part_of(experiment)
    rows, facts = pl.read_parquet(part), {"clockhand_facts": "{}"}
    match change:
        case "columns":
            rewritten(part, rows.drop("misses"))
        case "types":
            rewritten(part, rows.with_columns(misses=pl.lit("many")))
        case "facts":
            rows.write_parquet(tmp_path / "d/part-0.parquet", metadata=facts)
        case _:
            rows.write_parquet(tmp_path / "d/part-0.parquet", metadata={"clockhand_facts": "[1]"})
    run = clockhand("report", "d", "--format", "csv")
    assert run.code == 1
    assert_one_sentence(run)
    assert "is damaged or no part of a dataset" in run.err


# It was said that nothing could be written there.
def test_a_part_that_is_a_link_to_nothing_cannot_be_read(
    clockhand: Clockhand, tmp_path: Path
) -> None:
    part = tmp_path / "cells" / f"part-{'0' * 32}.parquet"
    part.parent.mkdir()
    part.symlink_to("nothing")
    run = clockhand("report", str(part.parent), "--out", str(tmp_path / "r.html"))
    assert run.code == 1 and f"{part} cannot be read (No such file" in run.err, run.err
