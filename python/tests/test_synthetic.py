"""`clockhand.synthesize`, `clockhand.recipes` and `clockhand trace synthesize`."""

import hashlib
import re
import signal
import subprocess
import time
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from clockhand import Trace, UsageError, convert_traces, recipes, run_simulation, synthesize
from clockhand.study.facts import trace_label
from conftest import (
    EXECUTABLE,
    Clockhand,
    assert_one_sentence,
    run_each,
)

ZIPF = "zipf:skew=0.9,footprint=4MiB,reads=70%"
FAILED, WRONG_USAGE = 1, 2


def test_the_same_command_gives_the_same_file_everywhere(
    clockhand: Clockhand, tmp_path: Path
) -> None:
    for out in ("one.parquet", "two.parquet"):
        named = ("--requests", "20k", "--seed", "42", "--out", out)
        run = clockhand("trace", "synthesize", ZIPF, *named)
        assert (run.code, run.out, run.err) == (0, b"", f"{out}: written\n")
    files = [(tmp_path / out).read_bytes() for out in ("one.parquet", "two.parquet")]
    assert files[0] == files[1]
    rows = pl.read_parquet(tmp_path / "one.parquet")
    # Of the requests and not of the file, which another version of Parquet may pack otherwise.
    text = "".join(f"{op}{address}\n" for op, address in rows.select("op", "address").iter_rows())
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == "e35f23d7966f0c11"


class SplitMix64:
    """The published generator, as literally as Python allows."""

    def __init__(self, seed: int) -> None:
        self.state = seed

    def next(self) -> int:
        self.state = (self.state + 0x9E3779B97F4A7C15) % 2**64
        mixed = (self.state ^ self.state >> 30) * 0xBF58476D1CE4E5B9 % 2**64
        mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EB % 2**64
        return mixed ^ mixed >> 31

    def below(self, limit: int) -> int:
        return self.next() * limit // 2**64

    def happens(self, percent: int) -> bool:
        return self.next() // 2 < percent * 2**63 // 100


def test_a_literal_twin_makes_the_same_requests(tmp_path: Path) -> None:
    recipe = "hot-cold:hot=10%,hot_requests=80%,footprint=4000KiB,reads=70%,scatter=none"
    synthesize(recipe, tmp_path / "out.parquet", requests=3000, seed=11)
    rows = pl.read_parquet(tmp_path / "out.parquet")
    random = SplitMix64(SplitMix64(11).next())
    expected = []
    for _ in range(3000):
        op = "R" if random.happens(70) else "W"
        page = random.below(100) if random.happens(80) else 100 + random.below(900)
        expected.append((op, page * 4096))
    assert list(rows.select(pl.col("op").cast(pl.String), "address").iter_rows()) == expected


def test_a_trace_without_a_file_is_the_trace_of_the_file(tmp_path: Path) -> None:
    made = synthesize(ZIPF, requests=5000, seed=7, arrivals="poisson:100")
    written = synthesize(
        ZIPF, tmp_path / "out.parquet", requests="5k", seed=7, arrivals="poisson:100"
    )
    infos = [made.info(), written.info()]
    same = ["requests", "read_requests", "footprint_pages", "dirty_footprint_pages", "span_ns"]
    assert [infos[0][name] for name in same] == [infos[1][name] for name in same]
    assert sorted(infos[0]["labels"]) == sorted(infos[1]["labels"])
    results = [
        run_simulation(trace, policies=["craw", "min"], memory="5%,20%")
        for trace in (made, written)
    ]
    assert_frame_equal(results[0].rows.drop("trace"), results[1].rows.drop("trace"))


def test_arrays_of_the_file_are_the_same_trace(tmp_path: Path) -> None:
    made = synthesize(ZIPF + ",streams=2", tmp_path / "out.parquet", requests="5k")
    rows = pl.read_parquet(tmp_path / "out.parquet")
    arrays = Trace.from_arrays(
        rows["op"].cast(pl.String), rows["address"], rows["size"], stream=rows["stream"]
    )
    assert (
        arrays.info()["sha256"] == synthesize(ZIPF + ",streams=2", requests="5k").info()["sha256"]
    )
    assert arrays.info()["footprint_pages"] == made.info()["footprint_pages"]


def test_the_label_follows_a_synthetic_trace_into_every_output(
    clockhand: Clockhand, tmp_path: Path
) -> None:
    clockhand("trace", "synthesize", ZIPF, "first.parquet", "--requests", "2k")
    clockhand("trace", "convert", "first.parquet", "out.parquet")
    info = clockhand("trace", "info", "out.parquet").out.decode()
    assert "out.parquet (synthetic)" in info
    assert "--requests 2000 --seed 0" in info
    run = clockhand(
        *("simulate", "out.parquet", "--policy", "lru", "--policy", "clock"),
        *("--memory", "5%,20%", "--report", "report.html"),
    )
    assert "out.parquet (synthetic): 2,000 references" in run.out.decode()
    page = (tmp_path / "report.html").read_text()
    captions = re.findall(r"<figcaption>.*?</figcaption>", page, re.DOTALL)
    assert captions
    assert all("out.parquet (synthetic)" in caption for caption in captions)
    assert "zipf:skew=0.9" in page


def test_a_stand_in_is_called_one_and_never_the_workload(clockhand: Clockhand) -> None:
    listed = clockhand("trace", "synthesize", "--list").out.decode()
    stand_ins = recipes().filter(pl.col("stands_for").is_not_null())
    assert stand_ins.height == 3
    for name in stand_ins["name"]:
        assert name in listed
        result = run_simulation(synthesize(name, requests="2k"), policies="lru", frames=8)
        (trace,) = result.facts["traces"]
        assert trace_label(trace["name"], result.facts) == f"{name} (synthetic stand-in)"
        assert any("this is not that workload" in note for note in trace["notes"])


def test_several_synthetic_traces_in_one_file_keep_every_recipe(tmp_path: Path) -> None:
    sources = [synthesize(ZIPF, requests="1k", seed=seed) for seed in (1, 2)]
    convert_traces(sources, tmp_path / "both.parquet")
    labels = Trace(tmp_path / "both.parquet").info()["labels"]
    said = [value for key, value in labels if key == "synthetic"]
    assert [value.split()[-1] for value in said] == ["1", "2"]


REFUSALS = (
    ("zipff:footprint=1MiB o.parquet", WRONG_USAGE, 'did you mean "zipf"?'),
    ("finacial-stand-in o.parquet", WRONG_USAGE, 'did you mean "financial-stand-in"?'),
    ("zipf:skew=1,footprint=1GiB o.parquet", WRONG_USAGE, "add it, such as --requests 20M"),
    ("uniform:footprint=1MiB o.parquet --requests 0", WRONG_USAGE, "--requests 0"),
    ("uniform:footprint=1MiB o.parquet --requests many", WRONG_USAGE, "--requests many"),
    ("uniform:footprint=1MiB o.parquet --requests 1k --seed -1", WRONG_USAGE, "--seed -1"),
    ("uniform:footprint=1MiB o.parquet --requests 1k --arrivals 9", WRONG_USAGE, "poisson:RATE"),
    ("uniform:footprint=1MiB o.csv --requests 1k", WRONG_USAGE, "does not end in .parquet"),
    ("uniform:footprint=1MiB", WRONG_USAGE, "the file to write"),
    ("uniform:footprint=1MiB,read=1% o.parquet --requests 1k", WRONG_USAGE, '"read"; use'),
    ("uniform:footprint=1 o.parquet --requests 1k", WRONG_USAGE, "no multiple of the page"),
    ("absent.toml o.parquet", FAILED, "there is no such file"),
    ("bad.toml o.parquet", FAILED, "bad.toml, line 2: there is no key"),
    ("uniform:footprint=1MiB absent/o.parquet --requests 1k", FAILED, "make its folder first"),
)


def test_the_file_may_stand_behind_the_recipe_too(clockhand: Clockhand, tmp_path: Path) -> None:
    run = clockhand("trace", "synthesize", ZIPF, "o.parquet", "--requests", "100")
    assert run.code == 0 and (tmp_path / "o.parquet").exists()
    assert "--out o.parquet" in run.err
    both = clockhand("trace", "synthesize", ZIPF, "o.parquet", "--out", "p.parquet")
    assert both.code == WRONG_USAGE and "both name the file" in both.err


def test_what_cannot_be_made_is_refused_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text('pattern = "uniform:footprint=1MiB"\nrate = 1\n')
    runs = run_each([["trace", "synthesize", *words.split()] for words, _, _ in REFUSALS], tmp_path)
    for run, (words, code, sentence) in zip(runs, REFUSALS, strict=True):
        assert_one_sentence(run)
        assert run.code == code, words
        assert sentence in run.err, run.err
    assert [path.name for path in tmp_path.iterdir()] == ["bad.toml"]


def test_a_recipe_file_is_made_and_the_command_overrides_it(
    clockhand: Clockhand, tmp_path: Path
) -> None:
    (tmp_path / "mine.toml").write_text(
        'pattern = "uniform:footprint=1MiB for 30 then loop:footprint=64KiB for 10"\nseed = 5\n'
    )
    clockhand("trace", "synthesize", "mine.toml", "out.parquet", "--requests", "100")
    info = Trace(tmp_path / "out.parquet").info()
    labels = dict(info["labels"])
    assert (info["requests"], labels["recipe"]) == (100, "mine")
    assert labels["synthetic"].endswith("--requests 100 --seed 5")


def test_an_interrupted_synthesis_leaves_nothing(tmp_path: Path) -> None:
    command = [EXECUTABLE, "trace", "synthesize", ZIPF, "out.parquet", "--requests", "1000G"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE) as running:
        deadline = time.monotonic() + 30
        while not any(tmp_path.iterdir()) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert any(tmp_path.iterdir()), "the writing has begun"
        running.send_signal(signal.SIGINT)
        _, errors = running.communicate(timeout=300)
    assert (running.returncode, errors) == (1, b"clockhand: interrupted; nothing was written\n")
    assert list(tmp_path.iterdir()) == []


def test_python_refuses_what_the_command_refuses() -> None:
    for options in ({"requests": 0}, {"requests": 10, "seed": 2**64}, {"requests": "ten"}):
        with pytest.raises(UsageError):
            synthesize(ZIPF, **options)
