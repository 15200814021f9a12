"""The site names every page of the documentation, and its links lead somewhere."""

import importlib.util
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import clockhand

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "site"))

import build  # noqa: E402 - The site's own script, beside its pages.
import gallery  # noqa: E402
import reference  # noqa: E402

CONFIGURATION = ROOT / "site/zensical.toml"


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site") / "content"
    build.content(folder, with_gallery=False)
    return folder


def named(entries: Any) -> Iterator[str]:
    """The pages of a navigation."""
    for entry in entries:
        for value in entry.values():
            if isinstance(value, str):
                yield value
            else:
                yield from named(value)


def navigation() -> list[str]:
    return list(named(tomllib.loads(CONFIGURATION.read_text())["project"]["nav"]))


def test_the_navigation_names_every_page_of_the_documentation_once() -> None:
    pages = navigation()
    assert len(pages) == len(set(pages))
    documents = {f"docs/{path.name}" for path in ROOT.glob("docs/*.md")}
    assert documents - set(pages) == set()


def test_the_navigation_names_only_pages_that_there_are(content: Path) -> None:
    assert [page for page in navigation() if not (content / page).is_file()] == []


def test_every_link_of_every_page_leads_somewhere(content: Path) -> None:
    for page in content.rglob("*.md"):
        text = build.FENCE.sub("", page.read_text(encoding="utf-8"))
        for _, _, target, _ in build.LINK.findall(text):
            if "://" not in target:
                place = page.parent / target
                assert place.is_file(), f"{page.relative_to(content)} links to {target}"


@pytest.mark.parametrize("folder", build.CATALOGS)
def test_everything_in_a_catalog_has_its_page(content: Path, folder: str) -> None:
    _, catalog = build.CATALOGS[folder]
    names = catalog()["name"].to_list()
    assert {path.stem for path in (content / folder).iterdir()} == {"index", *names}


def test_pages_of_policies_show_parameters_and_lead_to_a_player(content: Path) -> None:
    for page in ("policies/craw.md", "buffers/clock-dnv.md"):
        text = (content / page).read_text(encoding="utf-8")
        assert '<iframe src="../gallery/' in text
        assert "\n| parameter | takes | default | meaning |\n" in text
        assert "**Parameters.**" in text and "[See it step by step](../gallery/" in text


def test_the_reference_has_every_public_name() -> None:
    page = reference.reference()
    headings = set(re.findall(r"^## (\w+)$", page, re.MULTILINE))
    assert set(clockhand.__all__) - {"__version__"} <= headings
    assert "* `policies`: Names with parameters" in page
    assert ":func:" not in page and ":class:" not in page


def test_every_policy_has_a_player_from_a_step_table_if_there_is_one(content: Path) -> None:
    policies = clockhand.policies()
    playable = {row["name"] for row in policies.iter_rows(named=True) if row["kind"] != "bound"}
    assert {path.stem for path in (content / "gallery/players").iterdir()} == playable
    shown = gallery.player("craw")
    assert "craw:c=" in shown
    for policy in ("linux-lru", "min"):
        assert policy in gallery.player(policy)


def test_a_report_of_the_gallery_is_whole() -> None:
    _, make = gallery.REPORTS["simulate-3"]
    page, figure = gallery.report(make)
    assert "traces/tar-gzip.parquet" in page and str(ROOT) not in page
    assert figure.startswith("<svg") and len(figure) < 100_000


def test_every_write_buffer_has_a_player_from_a_step_table_if_there_is_one(content: Path) -> None:
    names = set(clockhand.write_buffers()["name"])
    assert {path.stem for path in (content / "gallery/buffers").iterdir()} == names
    assert "of a step table" in gallery.buffer_player("clock-dnv")
    for buffer in ("bplru", "craw"):
        assert f"{buffer}:total=6" in gallery.buffer_player(buffer)


def test_the_site_builds_without_warnings(content: Path) -> None:
    if importlib.util.find_spec("zensical") is None:
        pytest.skip("zensical is not installed; make site installs it")
    shutil.copyfile(CONFIGURATION, content.parent / "zensical.toml")
    command = [sys.executable, "-m", "zensical", "build", "--clean", "--strict"]
    done = subprocess.run(command, cwd=content.parent, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    front = (content.parent / "html/index.html").read_text()
    assert "Ways in" in front
    fetched = re.findall(r'<(?:script|img|link rel="stylesheet")[^>]*(?:src|href)="http', front)
    assert not fetched


def test_the_builder_wants_a_folder(capsys: pytest.CaptureFixture[str]) -> None:
    assert build.main([]) == 2
    assert "FOLDER" in capsys.readouterr().err
