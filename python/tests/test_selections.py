"""Lists of policies and write buffers: commas, ``all`` and patterns stand for what they name."""

import json
from pathlib import Path

import pytest

from clockhand import UsageError
from clockhand.study.selections import expanded
from conftest import Clockhand, os_course

NAMES = ["clock", "clock-pro", "craw", "lru"]


@pytest.mark.parametrize(
    ("texts", "entries"),
    [
        ("clock,craw", ["clock", "craw"]),
        (["lru", "craw, clock"], ["lru", "craw", "clock"]),
        ("craw:c=8,ghosts=literal,lru", ["craw:c=8,ghosts=literal", "lru"]),
        ("clock,clock", ["clock", "clock"]),
        ("all", NAMES),
        ("clock*:insert_ref=1", ["clock:insert_ref=1", "clock-pro:insert_ref=1"]),
        ("lru,cr?w", ["lru", "craw"]),
        ("unknown", ["unknown"]),
    ],
)
def test_lists_are_taken_apart_in_the_order_given(
    texts: str | list[str], entries: list[str]
) -> None:
    assert expanded("--policy", texts, NAMES) == entries


@pytest.mark.parametrize("text", ["", "clock,,lru", "clock,", "none*"])
def test_what_names_nothing_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"(names|matches) nothing"):
        expanded("--policy", text, NAMES)


def test_a_file_is_one_entry(tmp_path: Path) -> None:
    device = tmp_path / "mine,c=1.toml"
    device.touch()
    assert expanded("--device", device, NAMES) == [str(device)]


def test_the_command_takes_lists_of_policies_and_of_buffers(
    clockhand: Clockhand, tmp_path: Path
) -> None:
    (tmp_path / "t.trace").write_text(os_course([1, 2, 3, 4, 1, 2]))
    run = clockhand(
        *("simulate", "t.trace", "--policy", "cfc*,cflru:window_pages=1,lru", "--policy", "lru"),
        *("--frames", "2", "--format", "json"),
    )
    policies = [row["policy"] for row in json.loads(run.out)]
    assert policies == ["cfclock", "cflru:window_pages=1", "lru", "lru"]
    run = clockhand(
        *("ssd", "t.trace", "--buffer", "fab:total=4,cache_reads=false,lru:total=4"),
        *("--format", "json"),
    )
    buffers = [row["buffer"] for row in json.loads(run.out)]
    assert buffers == ["fab:total=4,cache_reads=false", "lru:total=4"]
