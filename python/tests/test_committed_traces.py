"""The committed traces are what their manifest says."""

from pathlib import Path

import pytest

import clockhand

TRACES = Path(__file__).resolve().parents[2] / "traces"
MANIFEST = (TRACES / "MANIFEST.md").read_text()


@pytest.mark.parametrize("path", sorted(TRACES.glob("*.parquet")), ids=lambda path: path.stem)
def test_a_committed_trace_stands_in_the_manifest(path: Path) -> None:
    info = clockhand.Trace(path).info()
    [row] = [line for line in MANIFEST.splitlines() if line.startswith(f"| `{path.stem}` |")]
    assert f"| {info['references']:,} |" in row
    assert f"| {info['references'] / info['footprint_pages']:,.0f} |" in row


@pytest.mark.parametrize(
    "path", sorted(TRACES.glob("larger/*.parquet")), ids=lambda path: path.stem
)
def test_a_part_of_a_larger_session_says_what_it_is_part_of(path: Path) -> None:
    [row] = [line for line in MANIFEST.splitlines() if line.startswith(f"| `whole/{path.stem}` |")]
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    classes = [int(count.replace(",", "")) for count in cells[2].split(", ")]
    references, per_page = (int(cells[place].replace(",", "")) for place in (3, 6))
    assert references >= 4_000_000 and per_page >= 400, "a whole session is long"
    info = clockhand.Trace(path).info()
    labels = dict(info["labels"])
    assert info["records"] == 300_000 and path.stat().st_size < 700_000
    assert labels["window"] == f"300,000 records from the middle of {sum(classes):,} on"
    assert labels["session"] == cells[1]
