"""The committed traces are what their manifests say, number by number."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import clockhand

TRACES = Path(__file__).resolve().parents[2] / "traces"
WHOLE = json.loads((TRACES / "whole-sessions.json").read_text())


@pytest.mark.parametrize("script", ["manifest.py", "mobile/manifest.py", "files/capture.py"])
def test_every_number_of_a_manifest_is_read_from_its_traces(script: str) -> None:
    check = subprocess.run(
        [sys.executable, TRACES / script, "--check"], capture_output=True, text=True, timeout=120
    )
    assert check.returncode == 0, check.stderr


@pytest.mark.parametrize("folder", ["servers", "servers/calls"])
def test_servers_are_what_their_manifest_says(folder: str) -> None:
    manifest = (TRACES / folder / "MANIFEST.md").read_text()
    for name in sorted(path.stem for path in (TRACES / folder).glob("*.parquet")):
        info = clockhand.Trace(TRACES / folder / f"{name}.parquet").info()
        [row] = [line for line in manifest.splitlines() if line.startswith(f"| `{name}.parquet`")]
        reads, writes = info["read_references"], info["write_references"]
        counts = (reads, writes) if folder == "servers/calls" else (reads + writes, writes)
        blocks = ", ".join(f"{count:,}" for count in (*counts, info["footprint_pages"]))
        assert row.endswith(f"| {blocks} |"), row
        if folder == "servers/calls":
            assert f"| {info['requests']:,} |" in row
        assert re.search(rf"`{name}.parquet`\s{info['sha256']}", manifest)


@pytest.mark.parametrize("name", WHOLE)
def test_whole_sessions_are_long(name: str) -> None:
    kept = WHOLE[name]
    assert kept["references"] == kept["read_references"] + kept["write_references"]
    assert kept["references"] >= 4_000_000
    assert kept["references"] / kept["footprint_pages"] >= 400
    whole = TRACES / "whole" / f"{name}.parquet"
    if whole.exists():
        assert clockhand.Trace(whole).info()["sha256"] == kept["sha256"]


@pytest.mark.parametrize(
    "path", sorted(TRACES.glob("larger/*.parquet")), ids=lambda path: path.stem
)
def test_a_part_of_a_larger_session_says_what_it_is_part_of(path: Path) -> None:
    records = sum(WHOLE[path.stem]["classes"].values())
    info = clockhand.Trace(path).info()
    labels = dict(info["labels"])
    assert info["records"] == 300_000 and path.stat().st_size < 900_000
    assert labels["window"] == f"300,000 records from the middle of {records:,} on"
    assert labels["session"] == WHOLE[path.stem]["session"]
