"""Builds the site: ``python site/build.py FOLDER``; ``make site`` calls it.

The documentation is copied as it is, with all that it links to. Pages of the catalogs, the
reference of the library and the gallery are made from the package, so that they cannot differ.
"""

import importlib.util
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(Path(__file__).parent))

from gallery import gallery  # noqa: E402 - A neighbour, wherever this is started.
from reference import reference  # noqa: E402

import clockhand  # noqa: E402
from clockhand import _engine  # noqa: E402

SITE = Path(__file__).parent
FRONT = SITE / "index.md"
"""The first page; it stands at the root of the site."""
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s#]+)(#[^)\s]*)?\)")
FENCE = re.compile(r"^(```.*?^```|`[^`\n]+`)", re.MULTILINE | re.DOTALL)

CATALOGS = {
    "policies": ("Page policies", clockhand.policies),
    "buffers": ("Write buffers", clockhand.write_buffers),
    "devices": ("Devices", clockhand.devices),
    "drives": ("Flash drives", clockhand.ssds),
    "formats": ("Trace formats", clockhand.formats),
}

PLAYERS = {"policies": "players", "buffers": "buffers"}
"""Catalogs whose pages lead to a player, and the folder of the gallery that has them."""


def linked(page: Path) -> Iterator[Path]:
    """The files of the repository that a page links to."""
    folder = ROOT if page == FRONT else page.parent
    for _, _, target, _ in LINK.findall(FENCE.sub("", page.read_text(encoding="utf-8"))):
        if "://" not in target and (folder / target).exists():
            yield (folder / target).resolve()


def documents() -> set[Path]:
    """The pages of the documentation, and everything that can be reached from them by links."""
    found: set[Path] = set()
    waiting = [*ROOT.glob("docs/*.md"), *ROOT.glob("*.md"), ROOT / "traces/MANIFEST.md"]
    waiting += [ROOT / "experiments/README.md", ROOT / "benches/README.md", *linked(FRONT)]
    while waiting:
        page = waiting.pop()
        if page in found or page.is_dir() or page == ROOT / "README.md":
            continue
        found.add(page)
        if page.suffix == ".md":
            waiting += linked(page)
    return found


def copied(page: Path, folder: Path) -> None:
    """Copy a file to its place; what a page says of folders and the README stays as text."""
    place = folder / page.relative_to(ROOT)
    place.parent.mkdir(parents=True, exist_ok=True)
    if page.suffix != ".md":
        shutil.copyfile(page, place)
        return

    def kept(match: re.Match[str]) -> str:
        target = (page.parent / match[3]).resolve()
        if target == ROOT / "README.md":
            up = "../" * (len(page.relative_to(ROOT).parts) - 1)
            return f"[{match[2]}]({up}index.md{match[4] or ''})"
        return match[2] if target.is_dir() else match[0]

    place.write_text(LINK.sub(kept, page.read_text(encoding="utf-8")), encoding="utf-8")


PARAMETERS = {"policies": _engine.policies, "buffers": _engine.write_buffers}
"""Catalogs whose entries have parameters, with their ranges."""


def catalogs() -> dict[str, str]:
    """Return the pages of policies, write buffers, devices, drives and formats, by their paths."""
    made = {}
    for folder, (title, catalog) in CATALOGS.items():
        listed = catalog()
        parameters = {
            entry["name"]: entry["parameters"] for entry in PARAMETERS.get(folder, list)()
        }
        columns = [name for name in listed.columns if name != "parameters"]
        lines = [f"# {title}\n", f"| {' | '.join(columns)} |", f"|{'---|' * len(columns)}"]
        for row in listed.select(columns).iter_rows(named=True):
            cells = [str(row[name] or "–").replace("|", "\\|") for name in columns]
            cells[0] = f"[{row['name']}]({row['name']}.md)"
            lines.append(f"| {' | '.join(cells)} |")
            page = _own_page(row["name"], str(catalog(row["name"])))
            page += _ranges(parameters.get(row["name"], []))
            if folder in PLAYERS and row.get("kind") != "bound":
                player = f"../gallery/{PLAYERS[folder]}/{row['name']}.html"
                page += f"\n[See it step by step]({player}):\n\n{_framed(player, row['name'])}\n"
            made[f"{folder}/{row['name']}.md"] = page
        made[f"{folder}/index.md"] = "\n".join(lines) + "\n"
    return made


def _ranges(parameters: Sequence[Mapping[str, str]]) -> str:
    """Return a table of what parameters take, and their defaults."""
    lines = [
        f"| `{it['name']}` | {it['domain']} | {it['default']} | {it['summary']} |"
        for it in parameters
    ]
    head = ["", "| parameter | takes | default | meaning |", "|---|---|---|---|"]
    return "\n".join([*head, *lines, ""]) if lines else ""


def _framed(player: str, name: str) -> str:
    """Return a player as a part of a page."""
    style = "width: 100%; height: 56rem; border: 1px solid #8884"
    title = f"{name}, step by step"
    return f'<iframe src="{player}" title="{title}" loading="lazy" style="{style}"></iframe>'


def _own_page(name: str, text: str) -> str:
    """Return a page of a catalog as Markdown; those of devices are plain text."""
    if text.startswith("# "):
        return text
    return f"# {name}\n\n```text\n{text.strip()}\n```\n"


def content(folder: Path, *, with_gallery: bool = True) -> None:
    """Write all pages into a folder, which is emptied before."""
    shutil.rmtree(folder, ignore_errors=True)
    for page in documents():
        copied(page, folder)
    made: Mapping[str, str] = {
        "index.md": FRONT.read_text(encoding="utf-8"),
        "reference.md": reference(),
        **catalogs(),
        **gallery(with_gallery),
    }
    for name, text in made.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")


def main(words: list[str]) -> int:
    """Build the site into the folder that is named; the exit code."""
    if len(words) != 1:
        print("usage: python site/build.py FOLDER", file=sys.stderr)
        return 2
    if importlib.util.find_spec("zensical") is None:
        print("zensical is not installed; run: make site", file=sys.stderr)
        return 1
    folder = Path(words[0]).resolve()
    content(folder / "content")
    shutil.copyfile(SITE / "zensical.toml", folder / "zensical.toml")
    command = [sys.executable, "-m", "zensical", "build", "--clean", "--strict"]
    return subprocess.run(command, cwd=folder).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
