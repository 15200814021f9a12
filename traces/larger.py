"""The sessions that are captured whole behind one small filter; most are longer than sessions.py's.

`capture_whole.py` captures them behind the first-level cache of the CRAW study and a second one
of 256 KiB. A whole trace is too large to commit; a part of those that are only here is.
"""

import json
import random
import sqlite3
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy
from databases import DATABASES
from sessions import (
    LICENCES,
    SESSIONS,
    Session,
    check_audacious,
    must,
    prepare_audacious,
    run,
    use_freecell,
)

ROWS = 60_000
ROW_CHARACTERS = 800
GRID, STEPS = 512, 12
SHAPES = 12
ITEMS, WORDS, SEED = 40_000, 5_000, 2014
TEXTS, TEXT_WORDS = 16, 500_000

# tar and gzip on more than their buffers


def prepare_large_tar_gzip(folder: Path) -> list[list[str]]:
    words = [word for licence in LICENCES for word in licence.read_text().split()]
    generator = random.Random(SEED)
    (folder / "texts").mkdir()
    for number in range(TEXTS):
        text = " ".join(generator.choices(words, k=TEXT_WORDS))
        (folder / "texts" / f"text-{number}.txt").write_text(text)
    return [["tar", "--create", "--file=texts.tar", "texts"], ["gzip", "texts.tar"]]


def check_large_tar_gzip(folder: Path) -> None:
    run("tar", "--compare", "--file=texts.tar.gz", cwd=folder)


# sqlite3 on a database of 50 MB


def prepare_large_sqlite(folder: Path) -> list[list[str]]:
    (folder / "job.sql").write_text(
        f"""CREATE TABLE item (id INTEGER PRIMARY KEY, word TEXT, amount INTEGER);
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {ROWS})
          INSERT INTO item SELECT i, printf('%0{ROW_CHARACTERS}d', i * 7919 % 10007), i * 31 % 1009
          FROM n;
        CREATE INDEX by_amount ON item (amount);
        UPDATE item SET amount = amount + 1 WHERE id % 7 = 0;
        DELETE FROM item WHERE id % 11 = 0;
        CREATE TABLE answer AS SELECT substr(word, -2) AS ending, sum(amount) AS total
          FROM item GROUP BY ending ORDER BY total DESC;
        """
    )
    return [["sqlite3", "items.db", "PRAGMA cache_size = -65536", ".read job.sql"]]


def check_large_sqlite(folder: Path) -> None:
    kept = [i for i in range(1, ROWS + 1) if i % 11]
    total = sum(i * 31 % 1009 + (i % 7 == 0) for i in kept)
    with sqlite3.connect(folder / "items.db") as database:
        ((answer,),) = database.execute("SELECT sum(total) FROM answer")
    must(answer == total, f"sqlite3 found {answer} instead of {total}")
    size = (folder / "items.db").stat().st_size
    must(size > 48_000_000, f"the database has only {size:,} bytes")


# a compiler of C++


def prepare_large_compiler(folder: Path) -> list[list[str]]:
    shapes = "".join(
        f"""template <int N> struct Shape{n} {{
          std::map<std::string, std::vector<int>> parts;
          int weigh(const std::string &name) {{
            auto &part = parts[name + std::to_string(N)];
            part.push_back({n});
            std::sort(part.begin(), part.end(), [](int a, int b) {{ return a * {n + 3} < b; }});
            return part.front() + N;
          }}
        }};
        int weigh_{n}(const std::string &name) {{ return Shape{n}<{n * 7}>().weigh(name); }}
        """
        for n in range(SHAPES)
    )
    headers = "".join(f"#include <{name}>\n" for name in ("algorithm", "map", "string", "vector"))
    (folder / "shapes.cpp").write_text(headers + shapes)
    # Preprocessed, so that the compiler proper finds the headers of every distribution.
    run("g++", "-E", "-P", "shapes.cpp", "-o", "shapes.ii", cwd=folder)
    compiler = subprocess.check_output(["g++", "-print-prog-name=cc1plus"], text=True).strip()
    return [[compiler, "-quiet", "-fpreprocessed", "-O0", "shapes.ii", "-o", "shapes.s"]]


def check_large_compiler(folder: Path) -> None:
    run("g++", "-O0", "-S", "shapes.ii", "-o", "again.s", cwd=folder)
    same = (folder / "shapes.s").read_text() == (folder / "again.s").read_text()
    must(same, "the compiler's output is not that of g++")


# numbers in Python


def prepare_numbers(folder: Path) -> list[list[str]]:
    (folder / "heat.py").write_text(
        f"""import numpy
plate = numpy.random.default_rng(2014).random(({GRID}, {GRID}))
for step in range({STEPS}):
    inner = plate[1:-1, 1:-1]
    around = plate[:-2, 1:-1] + plate[2:, 1:-1] + plate[1:-1, :-2] + plate[1:-1, 2:]
    warmer = plate.copy()
    warmer[1:-1, 1:-1] = inner + 0.2 * (around - 4 * inner)
    plate = warmer
waves = numpy.abs(numpy.fft.rfft(plate, axis=1)).mean(axis=0)
order = numpy.argsort(plate.ravel(), kind="stable")
numpy.savez("heat.npz", plate=plate, waves=waves, order=order)
"""
    )
    # Debian's Python has no numpy, so the environment's interpreter runs it.
    return [[sys.executable, "heat.py"]]


def check_numbers(folder: Path) -> None:
    made = numpy.load(folder / "heat.npz")
    plate = made["plate"]
    must(plate.shape == (GRID, GRID), "the plate has another shape")
    must(bool((numpy.diff(plate.ravel()[made["order"]]) >= 0).all()), "the order is not sorted")
    start = numpy.random.default_rng(2014).random((GRID, GRID))
    must(float(plate.std()) < float(start.std()) / 2, "the plate did not become more even")


# a JavaScript engine


def prepare_javascript(folder: Path) -> list[list[str]]:
    (folder / "words.js").write_text(
        f"""const fs = require("fs");
let state = {SEED};
const next = (n) => (state = (state * 16807) % 2147483647) % n;
const items = [];
for (let id = 0; id < {ITEMS}; id++) {{
  items.push({{ id, word: "w" + next({WORDS}), amount: next(1009) }});
}}
const text = JSON.stringify(items);
const totals = {{}};
for (const item of JSON.parse(text)) {{
  totals[item.word] = (totals[item.word] ?? 0) + item.amount;
}}
const order = Object.keys(totals).sort((a, b) => totals[b] - totals[a] || (a < b ? -1 : 1));
const loud = text.replace(/"w([0-9]+)"/g, (_, word) => `"W${{word}}!"`).length - text.length;
fs.writeFileSync("words.json", JSON.stringify({{ totals, order, loud }}));
"""
    )
    # Without its compilers, whose code changes while it runs.
    return [["node", "--jitless", "--single-threaded", "words.js"]]


def check_javascript(folder: Path) -> None:
    made = json.loads((folder / "words.json").read_text())
    totals: dict[str, int] = {}
    state = SEED
    for _ in range(ITEMS):
        state = state * 16807 % 2147483647
        word = f"w{state % WORDS}"
        state = state * 16807 % 2147483647
        totals[word] = totals.get(word, 0) + state % 1009
    must(made["totals"] == totals and made["loud"] == ITEMS, "node found other totals")
    must(made["order"] == sorted(totals, key=lambda word: (-totals[word], word)), "other order")


LARGER = [
    Session(
        "tar-gzip-long",
        "tar_gzip",
        f"`tar --create`, then `gzip`, on {TEXTS} texts of {TEXT_WORDS:,} words of licences",
        prepare_large_tar_gzip,
        None,
        False,
        check_large_tar_gzip,
    ),
    Session(
        "sqlite3-50mb",
        None,
        f"fills a database of 50 MB with {ROWS:,} rows, indexes, updates, deletes and sums them",
        prepare_large_sqlite,
        None,
        False,
        check_large_sqlite,
    ),
    Session(
        "cc1plus",
        None,
        f"g++'s compiler proper on {SHAPES} classes with the headers of maps and strings, -O0",
        prepare_large_compiler,
        None,
        False,
        check_large_compiler,
    ),
    Session(
        "python-heat",
        None,
        f"numpy: {STEPS} steps of heat on a plate of {GRID} x {GRID}, a transform, a sort",
        prepare_numbers,
        None,
        False,
        check_numbers,
    ),
    Session(
        "javascript",
        None,
        f"node without its compilers: {ITEMS:,} records to JSON and back, totals, a sort, a search",
        prepare_javascript,
        None,
        False,
        check_javascript,
    ),
    *DATABASES,
]

TONE_S = 120
ROUNDS = 8
LONGER = {
    "audacious": {
        "does": f"decodes {TONE_S} s of MP3 music to a file (there is no sound card)",
        "prepare": partial(prepare_audacious, tone_s=TONE_S),
        "check": partial(check_audacious, tone_s=TONE_S),
    },
    "freecell": {
        "does": f"aisleriot: four cards to the free cells, {ROUNDS} times undo, redo and a hint",
        "use": partial(use_freecell, rounds=ROUNDS),
    },
}
"""What two programs with windows do besides, so that each page has 400 references."""

TOO_SHORT = {
    "tar-gzip": "`tar-gzip-long` does the same with more text",
    "sqlite3": "`sqlite3-50mb` is the same program at more work",
    "cc1": "`cc1plus` is the compiler of a larger file",
}
"""Sessions that have far fewer than 4 million references behind the filter."""


def whole_sessions() -> list[Session]:
    """All sessions that are captured whole."""
    with_windows = [
        replace(session, **LONGER.get(session.name, {}))  # type: ignore[arg-type]
        for session in SESSIONS
        if session.name not in TOO_SHORT
    ]
    return [*with_windows, *LARGER]
