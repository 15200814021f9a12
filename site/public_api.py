"""Lists what the published crates offer, from the pages that rustdoc makes, and compares it.

``make lint`` runs ``site/public_api.py``: it fails if what a crate offers is not what stands in the
crate's ``public-api.txt``. ``make api`` writes these files. What is removed or changed in one
breaks those who use the crate: the version in ``Cargo.toml`` must rise (0.1 → 0.2), and the diff
shows it. A listing is compared by the version of rustdoc that wrote it; others may word it
otherwise.
"""

import argparse
import html
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CRATES = ("policy", "trace", "device", "sim")
LISTING = "public-api.txt"

DECLARED = re.compile(
    r'<pre class="rust item-decl">(?P<item>.*?)</pre>'
    r'|<h(?P<level>[34]) class="code-header">(?P<member>.*?)</h(?P=level)>',
    re.DOTALL,
)
OF_OTHERS = re.compile(r'id="(synthetic-implementations|foreign-impls|implementors)"')
"""Where the page of an item goes on with what others implement, or the compiler."""


def main() -> None:
    """Compare or write the listings."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the listings")
    parser.add_argument("--pages", type=Path, default=ROOT / "target/doc", help="of cargo doc")
    options = parser.parse_args()
    made_by = rustdoc_version()
    changed = []
    for crate in CRATES:
        place = ROOT / "crates" / crate / LISTING
        lines = [f"# Made by: make api, with {made_by}", *offered(options.pages, crate)]
        kept = place.read_text(encoding="utf-8").splitlines() if place.exists() else []
        if options.write:
            place.write_text("\n".join(lines) + "\n", encoding="utf-8")
        elif kept and kept[0] != lines[0]:
            print(f"{place.relative_to(ROOT)}: not compared, since this is {made_by}")
        elif kept != lines:
            changed += differences(crate, kept, lines)
    if changed:
        print("\n".join(changed[:40]))
        sys.exit("what a crate offers changed: see above, raise the version if it breaks, make api")


def rustdoc_version() -> str:
    """Return the version of rustdoc without that of its build, such as ``rustdoc 1.95``."""
    said = subprocess.run(["rustdoc", "--version"], capture_output=True, text=True, check=True)
    return ".".join(said.stdout.split(" (")[0].split(".")[:2])


def differences(crate: str, kept: list[str], lines: list[str]) -> list[str]:
    """Return a line for each that was removed or added."""
    return [
        *(f"{crate}: - {line}" for line in kept if line not in set(lines)),
        *(f"{crate}: + {line}" for line in lines if line not in set(kept)),
    ]


def offered(pages: Path, crate: str) -> list[str]:
    """Return a line for each public item of a crate and for each of its members, in order."""
    folder = pages / f"clockhand_{crate}"
    items = re.findall(r'<li><a href="([^"]+)">([^<]+)</a>', (folder / "all.html").read_text())
    lines = []
    for page, path in sorted(items, key=lambda item: item[1]):
        lines += [f"{path}: {line}" for line in declared((folder / page).read_text())]
    return lines


def declared(page: str) -> Iterator[str]:
    """Give the declarations on the page of an item: its own, and those of its members."""
    own = page[: end.start()] if (end := OF_OTHERS.search(page)) else page
    for found in DECLARED.finditer(own):
        text = plain(found["item"] or found["member"])
        # Functions of traits that a type implements are those of the trait.
        if found["item"] or re.match(r"(pub |unsafe impl|impl)", text) or "<h1>Trait" in page:
            yield text


def plain(markup: str) -> str:
    """Return the text of markup in one line."""
    text = re.sub(r"Show \d+ \w+", "", re.sub(r"<[^>]+>", "", markup))
    return " ".join(html.unescape(text).split())


if __name__ == "__main__":
    main()
