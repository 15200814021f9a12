"""The sessions whose calls on files are committed: what each program is given, and does.

Five stand for the programs of Table 2 of the CFLRU paper, whose versions of 2006 are gone, and five
for the applications of its section 6. Inputs are made here from fixed seeds, so that anyone can
repeat it; programs are today's, from Debian.
"""

import random
import shutil
import subprocess
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

SEED = 2006
PICTURES = 7
SHEET_ROWS = 16_000
PDF_PAGES = 40
SOURCES = 30
TREE_FILES = 1_000
FILES = 600
TRANSACTIONS = 2_500
WORDS = tuple(f"word{number * 7919 % 9973}" for number in range(2_000))


@dataclass(frozen=True)
class Session:
    """One program at work."""

    name: str
    stands_for: str
    """The paper's workload."""
    does: str
    """One line for the manifest."""
    needs: tuple[str, ...]
    """Programs."""
    prepare: Callable[[Path], None]
    """Makes the input in a folder."""
    script: str
    """What the captured shell runs there."""


def run(*command: str | Path, folder: Path) -> None:
    """Run a command of the preparation."""
    subprocess.run([str(word) for word in command], cwd=folder, check=True)


def text(source: random.Random, words: int) -> str:
    """Return lines of words."""
    chosen = source.choices(WORDS, k=words)
    lines = (" ".join(chosen[start : start + 12]) for start in range(0, words, 12))
    return "\n".join(lines) + "\n"


def prepare_pictures(folder: Path) -> None:
    """Seven pictures of noise, as PPM files of 3 MB each."""
    source = random.Random(SEED)
    for number in range(1, PICTURES + 1):
        head = b"P6 1152 900 255\n"
        (folder / f"picture-{number}.ppm").write_bytes(head + source.randbytes(1152 * 900 * 3))


def prepare_document(folder: Path) -> None:
    """A text of 2 MB."""
    source = random.Random(SEED)
    (folder / "document.txt").write_text(text(source, 250_000))


def prepare_sheet(folder: Path) -> None:
    """A sheet of four columns of numbers, with sums below."""
    source = random.Random(SEED)
    rows = (",".join(str(source.randrange(10_000)) for _ in range(4)) for _ in range(SHEET_ROWS))
    functions = ("SUM", "AVERAGE", "MIN", "MAX")
    below = [
        ",".join(f'"={function}({column}1:{column}{SHEET_ROWS})"' for column in "ABCD")
        for function in functions
    ]
    (folder / "sheet.csv").write_text("\n".join([*rows, *below]) + "\n")


def prepare_pdf(folder: Path) -> None:
    """A document of forty pages, each a picture of 400 KB and a line of text."""
    source = random.Random(SEED)
    width, height = 400, 300
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>", b""]
    for _ in range(PDF_PAGES):
        shades = b"".join(source.randbytes(width) * 3 for _ in range(height))
        picture = zlib.compress(shades)
        first = len(objects) + 1
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {width} {height}] /Contents {first + 1} "
            f"0 R /Resources << /XObject << /P {first + 2} 0 R >> >> >>".encode()
        )
        drawn = f"{width} 0 0 {height} 0 0 cm /P Do".encode()
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(drawn), drawn))
        objects.append(
            b"<< /Type /XObject /Subtype /Image /Width %d /Height %d /ColorSpace /DeviceRGB "
            b"/BitsPerComponent 8 /Filter /FlateDecode /Length %d >>\nstream\n%s\nendstream"
            % (width, height, len(picture), picture)
        )
    kids = " ".join(f"{3 + 3 * page} 0 R" for page in range(PDF_PAGES))
    objects[1] = f"<< /Type /Pages /Count {PDF_PAGES} /Kids [{kids}] >>".encode()
    document, places = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        places.append(len(document))
        document += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    start = len(document)
    rows = "".join(f"{place:010} 00000 n \n" for place in places)
    document += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{rows}trailer\n".encode()
    trailer = f"<< /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n"
    document += trailer.encode()
    (folder / "pages.pdf").write_bytes(document)


def prepare_site(folder: Path) -> None:
    """Ten pages with a text and two pictures each."""
    source = random.Random(SEED)
    for number in range(10):
        plasma = ["-size", "400x300", "-seed", str(number), "plasma:"]
        run("convert", *plasma, f"picture-{number}.png", folder=folder)
        body = text(source, 3_000)
        pictures = (number, (number * 7 + 3) % 10)
        images = "".join(f'<img src="picture-{picture}.png">' for picture in pictures)
        (folder / f"page-{number}.html").write_text(f"<title>{number}</title>{images}<p>{body}")


def prepare_sources(folder: Path) -> None:
    """C files of generated functions that include the usual headers."""
    headers = ("stdio", "stdlib", "string", "math", "time", "unistd", "sys/stat", "pthread")
    includes = "".join(f"#include <{header}.h>\n" for header in headers)
    for number in range(SOURCES):
        functions = "".join(
            f"int f{number}_{n}(int *v, int c) {{ int s = {n}; for (int i = 0; i < c; i++) "
            f"s = v[i] > {n} ? s * {n + 3} + v[i] : s - (v[i] >> {n % 7}); return s; }}\n"
            for n in range(150)
        )
        (folder / f"part-{number}.c").write_text(includes + functions)
    (folder / "main.c").write_text("int main(void) { return 0; }\n")


def prepare_tree(folder: Path) -> None:
    """A tree of small files, 12 MB in all."""
    source = random.Random(SEED)
    for number in range(TREE_FILES):
        place = folder / "tree" / f"folder-{number % 30}"
        place.mkdir(parents=True, exist_ok=True)
        size = min(int(source.lognormvariate(8.6, 1.2)), 1 << 18)
        (place / f"file-{number}").write_bytes(source.randbytes(size))


def prepare_two_trees(folder: Path) -> None:
    """The tree twice, with every tenth file changed."""
    prepare_tree(folder)
    shutil.copytree(folder / "tree", folder / "other")
    for place in sorted((folder / "other").rglob("file-*0")):
        place.write_bytes(place.read_bytes()[::-1])


def prepare_sound(folder: Path) -> None:
    """Two minutes of noise that rises and falls, as a WAV file of 21 MB."""
    noise = "anoisesrc=seed=2006:duration=120:sample_rate=44100:amplitude=0.2"
    run("ffmpeg", "-loglevel", "error", "-f", "lavfi", "-i", noise, "-ac", "2", "sound.wav",
        folder=folder)  # fmt: skip


def prepare_mail(folder: Path) -> None:
    """The program that follows postmark's rules."""
    (folder / "postmark.py").write_text(POSTMARK)


POSTMARK = f'''"""Makes files; a transaction reads or appends to one, and makes or deletes one."""
import os, random
source = random.Random({SEED})
def make(number):
    file = os.open(f"mail-{{number}}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    left = source.randrange(512, 64 << 10)
    while left > 0:
        left -= os.write(file, bytes(min(left, 4096)))
    os.close(file)
def read(number):
    file = os.open(f"mail-{{number}}", os.O_RDONLY)
    while os.read(file, 4096):
        pass
    os.close(file)
def append(number):
    file = os.open(f"mail-{{number}}", os.O_WRONLY | os.O_APPEND)
    os.write(file, bytes(source.randrange(1, 4096)))
    os.close(file)
files = list(range({FILES}))
for number in files:
    make(number)
following = {FILES}
for _ in range({TRANSACTIONS}):
    source.choice((read, append))(source.choice(files))
    if source.random() < 0.5:
        make(following)
        files.append(following)
        following += 1
    else:
        os.unlink(f"mail-{{files.pop(source.randrange(len(files)))}}")
for number in files:
    os.unlink(f"mail-{{number}}")
'''

SHOW = """
for round in 1 2; do for n in 1 2 3 4 5 6 7; do for width in 640 1440; do
  ffmpeg -loglevel error -y -i picture-$n.ppm -vf scale=$width:-1 shown-$width.ppm
done; done; done
"""

EDITS = """
for pass in 0 1 2 3 4 5 6 7 8 9; do
  sed --in-place "s/word1[0-9]*$pass /changed-$pass /g" document.txt
  grep --count "changed-$pass" document.txt > found.txt
done
sort document.txt > index.txt
"""

COMPILE = """
for source in part-*.c; do gcc -g -O1 -c $source -o ${source%.c}.o; done
ar rcs libparts.a part-*.o
gcc main.c libparts.a -o program
"""

SESSIONS = (
    Session(
        "pictures", "Gqview", f"shows {PICTURES} pictures twice, at two sizes each (ffmpeg)",
        ("ffmpeg",), prepare_pictures, SHOW,
    ),
    Session(
        "document", "Kword",
        "edits a text of 2 MB in ten passes, each saved and searched, and sorts it",
        ("sed", "sort"), prepare_document, EDITS,
    ),
    Session(
        "sheet", "Kspread",
        "sums, averages, least and greatest of numbers, kept as a sheet (gnumeric), and sorts them",
        ("ssconvert", "sort"), prepare_sheet,
        "ssconvert sheet.csv sheet.xls; for n in 1 2; do ssconvert --recalc sheet.xls new.xls; "
        "mv new.xls sheet.xls; ssconvert sheet.xls sheet.csv; sort -n sheet.csv > sorted.csv; done",
    ),
    Session(
        "pdf", "Acrobat reader", f"draws {PDF_PAGES} pages of a PDF (poppler)",
        ("pdfinfo", "pdftoppm"), prepare_pdf,
        "pdfinfo pages.pdf; pdftoppm -r 40 pages.pdf page",
    ),
    Session(
        "browser", "Mozilla",
        "shows ten local pages with pictures and keeps its profile (chromium)",
        ("chromium",), prepare_site,
        "for n in 0 1 2 3 4 5 6 7 8 9; do chromium --headless --no-sandbox --disable-gpu "
        "--user-data-dir=profile --screenshot=page-$n.png file://$PWD/page-$n.html; done",
    ),
    Session(
        "gcc", "gcc", f"compiles {SOURCES} C files, makes a library and links (gcc, ar, ld)",
        ("gcc", "ar"), prepare_sources, COMPILE,
    ),
    Session(
        "tar", "tar", f"packs a tree of {TREE_FILES:,} files, 12 MB, and unpacks it again",
        ("tar",), prepare_tree,
        "tar --create --file=tree.tar tree; mkdir copy; tar --extract --directory=copy "
        "--file=tree.tar",
    ),
    Session(
        "diff", "diff",
        "compares two such trees, first for names, then in full; every tenth file differs",
        ("diff",), prepare_two_trees,
        "diff --recursive --brief tree other > names || true; "
        "diff --recursive --text tree other > differences || true",
    ),
    Session(
        "encoding", "encoding", "encodes two minutes of sound, 21 MB, to MP3 and to FLAC",
        ("ffmpeg",), prepare_sound,
        "ffmpeg -loglevel error -i sound.wav sound.flac; ffmpeg -loglevel error -i sound.wav "
        "-b:a 192k sound.mp3",
    ),
    Session(
        "postmark", "file system benchmark",
        f"postmark's rules: {FILES} files of 0.5 to 64 KiB, {TRANSACTIONS:,} transactions",
        ("python3",), prepare_mail, "python3 -S -E postmark.py",
    ),
)  # fmt: skip
