"""`clockhand measure`: profiles of this machine, what they cost it, and what is refused."""

import os
import tomllib
from pathlib import Path
from typing import Any

import pytest

import clockhand
from clockhand.measure import ram_disk
from clockhand.measure.profile import fitted, median_ns, profile_text
from conftest import Clockhand, assert_one_sentence

MACHINE = {"kernel": "Linux 6", "processor": 'A "fast" one', "processors": 2}


def point(operation: str, size_bytes: int, median: float) -> dict[str, Any]:
    scales = (0.8, 0.9, 0.95, 1, 1.1, 1.2, 2)
    return {
        "operation": operation,
        "bytes": size_bytes,
        "operations": 1000,
        "percentiles_ns": [median * scale for scale in scales],
        "mean_ns": median,
    }


def points(operation: str, setup_ns: float, unit_ns: float) -> list[dict[str, Any]]:
    sizes = [4096 << doubling for doubling in range(9)]
    return [point(operation, size, setup_ns + unit_ns * size / 4096) for size in sizes]


def test_the_line_through_exact_medians_is_found() -> None:
    line = fitted(points("read", 80_000, 1_500))
    assert (line.setup_ns, line.unit_ns) == (pytest.approx(80_000), pytest.approx(1_500))
    assert line.error < 1e-9
    # A line that would have to begin below zero goes through it.
    line = fitted([point("read", 4096, 100), point("read", 8192, 300)])
    assert line.setup_ns == 0 and line.unit_ns > 0
    # Times that fall with the size have no cost per byte.
    line = fitted([point("read", 4096, 300), point("read", 8192, 100)])
    assert line.unit_ns == 0 and line.setup_ns > 0
    with pytest.raises(ValueError, match="no point"):
        fitted([])


def test_a_profile_is_a_device(tmp_path: Path) -> None:
    measured = points("read", 80_000, 1_500) + points("write", 20_000.4, 3_000)
    text = profile_text(
        measured, summary="mine", reads="read", writes="write", date="2026-01-02",
        machine=MACHINE, what="a file",
    )  # fmt: skip
    path = tmp_path / "mine.toml"
    path.write_text(text)
    rows = clockhand.break_even(path, page_size="4KiB,8KiB", stack_share=0)
    assert rows["bypass_time_us"].to_list() == pytest.approx([81.5, 83])
    page = clockhand._engine.device_page(str(path))
    assert "2026-01-02 on Linux 6, A 'fast' one, 2 processors; a file" in page
    assert page.count("├") == len(measured)
    parsed = tomllib.loads(text)
    assert parsed["measured"]["points"][0]["p50_us"] == 81.5
    assert parsed["write"] == {"setup_time_us": 20.0, "time_us": 3.0}


def test_storage_becomes_a_profile_and_leaves_nothing_behind(
    clockhand: Clockhand, tmp_path: Path
) -> None:
    (tmp_path / "measured").mkdir()
    run = clockhand(
        "measure", "measured", "--out", "mine.toml", "--file-size", "16MiB", "--operations", "20",
        timeout=300,
    )  # fmt: skip
    if run.code == 1 and "O_DIRECT" in run.err:
        pytest.skip(run.err)
    assert run.code == 0, run.err
    # 16 MiB, and 20 requests of each size, 2044 KiB in all.
    assert "up to 55.92 MiB will be written, to 16 MiB of it" in run.err
    assert {path.name for path in tmp_path.iterdir()} == {"measured", "mine.toml"}
    assert list((tmp_path / "measured").iterdir()) == []
    assert "past the page cache" in run.out.decode()
    profile = tomllib.loads((tmp_path / "mine.toml").read_text())
    kinds = {point["operation"] for point in profile["measured"]["points"]}
    assert {"read", "write", "buffered_read", "minor_fault"} <= kinds
    shown = clockhand("devices", "mine.toml")
    assert shown.code == 0 and "operation" in shown.out.decode()
    used = clockhand("filecache", "--break-even", "--device", "mine.toml", "--format", "json")
    assert used.code == 0, used.err


def test_memory_becomes_a_profile(clockhand: Clockhand, tmp_path: Path) -> None:
    run = clockhand("measure", "--memory", "--out", "memory.toml", timeout=300)
    assert run.code == 0, run.err
    text = run.out.decode()
    assert "Copying 4 KiB of memory takes" in text and "TLB" in text
    points = tomllib.loads((tmp_path / "memory.toml").read_text())["measured"]["points"]
    kinds = {point["operation"] for point in points}
    assert {"memory_copy", "anonymous_fault", "permission_fault", "walk_small_pages"} <= kinds
    if "ram_disk_read" not in kinds:
        assert "ext4 whose storage is memory was left out:" in text
    left = [path for path in Path("/dev/shm").glob("clockhand-measure-*")]
    assert left == []
    used = clockhand(
        "filecache", "--break-even", "--device", "scm:ratio=1", "--cache-device", "memory.toml",
        "--format", "json",
    )  # fmt: skip
    assert used.code == 0, used.err


def test_what_exists_is_refused_unless_told(clockhand: Clockhand, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_bytes(b"7" * 4096)
    run = clockhand("measure", "precious", "--out", "mine.toml")
    assert_one_sentence(run)
    assert run.code == 2 and "add --write-to-existing" in run.err
    assert precious.read_bytes() == b"7" * 4096
    assert not (tmp_path / "mine.toml").exists()


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ([], "give a path, or --memory"),
        ([".", "--memory"], "give a path, or --memory"),
        ([".", "--file-size", "1MiB"], "--file-size is too small"),
        ([".", "--file-size", "x"], "--file-size 'x' is not a size"),
        ([".", "--operations", "0"], "--operations 0 is out of range"),
        (["/dev/null"], "neither a folder nor a file nor a block device"),
    ],
)
def test_what_cannot_be_measured_is_refused(
    clockhand: Clockhand, arguments: list[str], part: str
) -> None:
    run = clockhand("measure", *arguments, "--out", "mine.toml")
    assert_one_sentence(run)
    assert run.code == 2
    assert part in run.err


def test_a_profile_must_be_known_by_its_name(clockhand: Clockhand) -> None:
    run = clockhand("measure", ".", "--out", "mine.txt")
    assert_one_sentence(run)
    assert run.code == 2 and "does not end in .toml" in run.err


def test_without_root_the_file_system_in_memory_is_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert ram_disk.obstacle() == "making a disk in memory needs root"


def test_a_median_that_was_not_measured_is_none() -> None:
    measured = points("read", 80_000, 1_500)
    assert median_ns(measured, "read", 8192) == 83_000
    assert median_ns(measured, "write") is None
