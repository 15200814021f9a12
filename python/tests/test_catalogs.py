"""`clockhand policies`, `devices` and `formats`: lists, and a page for each name."""

import re
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import clockhand
from conftest import run_clockhand, run_each

CATALOGS = {
    "policies": clockhand.policies,
    "devices": clockhand.devices,
    "formats": clockhand.formats,
}


@pytest.mark.parametrize("catalog", CATALOGS)
def test_names_are_unique_and_have_a_summary(catalog: str) -> None:
    rows = CATALOGS[catalog]()
    assert rows["name"].is_unique().all()
    assert rows.select(pl.col("name", "summary").str.len_chars().min()).row(0) > (0, 10)


def test_documentation_lists_all_policies_of_each_kind() -> None:
    root = Path(__file__).resolve().parents[2]
    running = (root / "docs/running.md").read_text(encoding="utf-8")
    architecture = (root / "ARCHITECTURE.md").read_text(encoding="utf-8")
    places = [
        ("bit-driven", re.findall(r"The bit-driven ones: (.*?)\. ", running, re.DOTALL)),
        (
            "bit-driven",
            re.findall(r"A \*\*bit-driven\*\* policy \((.*?)\)", architecture, re.DOTALL),
        ),
        (
            "access-driven",
            re.findall(r"An \*\*access-driven\*\* policy \((.*?)\)", architecture, re.DOTALL),
        ),
    ]
    for kind, texts in places:
        [text] = texts
        listed = re.findall(r"[\w-]+", ",".join(re.findall(r"`([^`]*)`", text, re.DOTALL)))
        policies = clockhand.policies().filter(kind=kind)["name"]
        assert sorted(listed) == sorted(policies), kind


def test_kinds_say_what_a_policy_must_be_told() -> None:
    kinds = dict(clockhand.policies().select("name", "kind").iter_rows())
    assert (kinds["clock"], kinds["lru"], kinds["min"]) == (
        "bit-driven",
        "access-driven",
        "offline",
    )


@pytest.mark.parametrize(
    ("page", "name"),
    [
        (clockhand.policies, "craw"),
        (clockhand.write_buffers, "clock-dnv"),
        (clockhand.devices, "slc-nand"),
        (clockhand.ssds, "small"),
        (clockhand.formats, "parquet"),
    ],
)
def test_the_library_gives_the_page_of_a_name(page: Callable[[str], str], name: str) -> None:
    shown = page(name)
    assert name in shown.lower() and len(shown.splitlines()) > 5
    assert repr(shown) == shown, "a notebook without Markdown prints it as it is"
    with pytest.raises(clockhand.UsageError, match="nosuch"):
        page("nosuch")


@pytest.mark.parametrize("catalog", CATALOGS)
def test_the_command_lists_and_explains_every_name(catalog: str, tmp_path: Path) -> None:
    rows = CATALOGS[catalog]()
    arguments = [[catalog], *([catalog, name] for name in rows["name"])]
    listed, *pages = run_each(arguments, tmp_path)
    assert (listed.code, listed.err) == (0, "")
    for name, page in zip(rows["name"], pages, strict=True):
        assert name in listed.out.decode()
        assert (page.code, page.err) == (0, "")
        assert len(page.out.splitlines()) >= 5, name


def test_a_policy_is_shown_with_its_parameters(tmp_path: Path) -> None:
    page = run_clockhand("policies", "cflru", cwd=tmp_path).out.decode()
    assert "**Victim.**" in page
    for parameter in ("window_share", "window_pages"):
        assert parameter in page
    assert "from 0 to 1" in page


def test_a_device_is_shown_with_options_or_from_a_file(tmp_path: Path) -> None:
    assert b"ratio=100" in run_clockhand("devices", "scm:ratio=100", cwd=tmp_path).out
    profile = 'summary = "mine"\nsource = "me"\ncharged = "per-page"\n'
    profile += "[read]\ntime_us = 3\n[write]\ntime_us = 7\n"
    (tmp_path / "mine.toml").write_text(profile)
    run = run_clockhand("devices", "mine.toml", cwd=tmp_path)
    assert (run.code, run.err) == (0, "")
    assert b"7/3" in run.out


def test_the_documentation_counts_what_the_catalogs_have() -> None:
    root = Path(__file__).resolve().parents[2]
    formats = clockhand.formats()
    written = formats.filter(formats["writes"] != "no").height
    said = {
        "docs/traces.md": f"reads {formats.height} formats and writes {written} of them",
        "README.md": f"{formats.height} formats",
        "CHANGELOG.md": f"{clockhand.policies().height} page policies (two of them are ends of "
        f"the optimum's bracket), {clockhand.write_buffers().height} write buffers, "
        f"{clockhand.devices().height} devices, {clockhand.ssds().height} flash drives and "
        f"{clockhand.tier_profiles().height} pairs of memory",
    }
    for page, words in said.items():
        assert words in " ".join((root / page).read_text(encoding="utf-8").split()), page
