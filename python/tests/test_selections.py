"""Lists of policies and write buffers: commas, ``all`` and patterns stand for what they name."""

import json
from pathlib import Path

import pytest

from clockhand import UsageError
from clockhand.study.ranges import families
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
        ("all,clock", NAMES),
        ("lru,all,clock", ["lru", *(name for name in NAMES if name != "lru")]),
        ("clock*:insert_ref=1", ["clock:insert_ref=1", "clock-pro:insert_ref=1"]),
        ("lru,cr?w", ["lru", "craw"]),
        ("unknown", ["unknown"]),
    ],
)
def test_lists_are_taken_apart_in_the_order_given(
    texts: str | list[str], entries: list[str]
) -> None:
    assert expanded("policy", texts, NAMES) == entries


@pytest.mark.parametrize("text", ["", "clock,,lru", "clock,", "none*"])
def test_what_names_nothing_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"(names|matches) nothing"):
        expanded("policy", text, NAMES)


@pytest.mark.parametrize(
    ("text", "entries"),
    [
        ("lru:w=0..1/4", ["lru:w=0", "lru:w=1/4", "lru:w=1/2", "lru:w=3/4", "lru:w=1"]),
        ("lru:w=2..4,clock", ["lru:w=2", "lru:w=3", "lru:w=4", "clock"]),
        ("lru:w=0..0.5/2", ["lru:w=0", "lru:w=1/4", "lru:w=1/2"]),
        ("lru:w=1/4..1/2/2", ["lru:w=1/4", "lru:w=3/8", "lru:w=1/2"]),
        ("lru:w=3..3", ["lru:w=3"]),
        ("lru:a=1..2,b=x,c=0..1", [f"lru:a={a},b=x,c={c}" for a in (1, 2) for c in (0, 1)]),
        ("lru:mode=a..b", ["lru:mode=a..b"]),
        ("lru:total=4MiB,16MiB,clock", ["lru:total=4MiB", "lru:total=16MiB", "clock"]),
        ("lru:total=1MB..5MB", [f"lru:total={size}MB" for size in (1, 2, 4, 5)]),
        ("lru:total=512KiB..2MiB", [f"lru:total={size}" for size in ("512KiB", "1024KiB", "2MiB")]),
        (
            "lru:total=64..256,1%..3%",
            [f"lru:total={size}" for size in (64, 128, 256, "1%", "2%", "3%")],
        ),
        ("lru:a=1,total=8,16,b=2", ["lru:a=1,total=8,b=2", "lru:a=1,total=16,b=2"]),
        ("lru:total=1.5MiB..6MiB", [f"lru:total={size}" for size in ("1.5MiB", "3MiB", "6MiB")]),
        ("c*:total=1,2", [f"{name}:total={size}" for name in NAMES[:3] for size in (1, 2)]),
        ("c*:w=0..1", [f"{name}:w={w}" for name in NAMES[:3] for w in (0, 1)]),
    ],
)
def test_a_range_is_all_its_values_exactly(text: str, entries: list[str]) -> None:
    assert expanded("policy", text, NAMES) == entries


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("lru:w=4..2", "runs backwards"),
        ("lru:w=0..0.5", "only whole numbers need no steps"),
        ("lru:w=0..1/0", "has 0 steps"),
        ("lru:w=1/0..1/2", "over 0"),
        ("lru:w=0..99999999", "more than 10,000"),
        ("lru:w=0..1/10000", "more than 10,000"),
        ("lru:a=0..999,b=0..999", "more than 10,000"),
        ("lru:total=8MiB..4MiB", "runs backwards"),
        ("lru:total=4MiB..5%", "its ends are of two kinds"),
        ("lru:total=0..8", "nothing doubled is nothing"),
        ("lru:total=0.5%..3%", "only whole shares"),
    ],
)
def test_a_range_that_is_none_is_refused(text: str, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        expanded("policy", text, NAMES)


def test_policies_that_differ_in_one_number_are_a_family() -> None:
    values = expanded("policy", "lru,a:w=0..1/2,c=3,a:w=1/3,c=4,b:w=1,b:w=2", NAMES)
    (family,) = families(values)
    assert (family.name, family.parameter) == ("a:c=3", "w")
    assert family.values == {"a:w=0,c=3": 0.0, "a:w=1/2,c=3": 0.5, "a:w=1,c=3": 1.0}


def test_a_file_is_one_entry(tmp_path: Path) -> None:
    device = tmp_path / "mine,c=1.toml"
    device.touch()
    assert expanded("device", device, NAMES) == [str(device)]


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
