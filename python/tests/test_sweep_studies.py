"""Sweeps of every study: the command's own rows, kept cell by cell and gone on with."""

import hashlib
import json
import os
import pickle
import signal
import subprocess
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from clockhand import UsageError, _engine
from clockhand.datasets.layout import LAYOUTS
from clockhand.studies.locality.tables import TABLES
from clockhand.sweep import Dataset, analyse, compute, read_experiment, run_sweep, tasks_of
from conftest import EXECUTABLE, Clockhand, assert_one_sentence, os_course, scattered_pages

PROFILES = Path(__file__).resolve().parents[2] / "crates/device/profiles"
HEAD = 'question = "q"\nexpected = "e"\ntraces = ["first.trace", "second.trace"]\n'


@dataclass(frozen=True)
class Case:
    """A study, its table in an experiment, and the command with the same options."""

    study: str
    table: str
    command: str
    cells: int
    rows_of_cell: int = 1


CASES = (
    Case(
        "pages",
        'policies = ["clock", { craw = { c = [2, 8] } }]\nmemory = "20%,50%"\n'
        'write_miss = "blind"\nseed = 3\n',
        "simulate --policy clock --policy craw:c=2 --policy craw:c=8 --memory 20%,50% "
        "--write-miss blind --seed 3",
        12,
    ),
    Case(
        "ssd",
        'buffers = ["lru:total=10%", { clock-dnv = { total = ["8", "16"], dram_share = "1/4" } }]\n'
        'ssds = ["small", "dnv-textbook:size=8MiB"]\nprecondition = "fill"\ndrain = true\n',
        "ssd --buffer lru:total=10% --buffer clock-dnv:total=8,dram_share=1/4 "
        "--buffer clock-dnv:total=16,dram_share=1/4 --ssd small --ssd dnv-textbook:size=8MiB "
        "--drain",
        12,
    ),
    Case(
        "filecache",
        'capacity = ["0", "10%..12%", 16]\nadmissions = "all"\npolicies = ["lru", "fifo"]\n'
        'devices = ["scm:ratio=10", "hdd"]\n',
        "filecache --capacity 0,10%..12%,16 --admission all --policy lru --policy fifo "
        "--device scm:ratio=10 --device hdd",
        160,
    ),
    Case(
        "translate",
        'page_sizes = ["512", "4KiB"]\ntlb = ["8", "16/4:plru"]\nmemory = ["25%", "64KiB"]\n'
        'ratios = [1, 100]\npolicies = ["clock", "lru"]\nwalk_levels = 2\n',
        "translate --page-size 512,4KiB --tlb 8,16/4:plru --memory 25%,64KiB --ratio 1,100 "
        "--policy clock --policy lru --walk-levels 2",
        64,
    ),
    Case(
        "tier",
        'policies = ["lru", "tpp"]\nfast = ["10%", "50%"]\npromote = ["never", "write"]\n'
        'tiers = ["cxl", "pcm"]\n',
        "tier --policy lru --policy tpp --fast 10%,50% --promote never,write --tiers cxl,pcm",
        24,
    ),
    Case(
        "pagecache",
        'policies = ["lru", "clock", "min"]\nframes = [8, 20]\nfirst_touch = "read"\n',
        "pagecache --policy lru --policy clock --policy min --frames 8,20 --first-touch read",
        12,
    ),
    Case(
        "locality",
        'page_sizes = "8KiB"\nties = "recent"\nseed = 3\n',
        "locality --page-size 8KiB --ties recent --seed 3",
        2,
        rows_of_cell=4,
    ),
)


KEYS = {
    "pages": "be909d24204fc785",
    "ssd": "e9a216d1ff25c670",
    "filecache": "e24b2741e75dc65f",
    "translate": "2ac9d6b9abf2ffce",
    "tier": "d85254fe72191773",
    "pagecache": "f9cabe5eaf53823f",
    "locality": "a34d73267260432a",
}
"""Digests of the keys of each case's cells, as datasets hold that Python made the keys of."""


@pytest.fixture(autouse=True)
def traces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two traces where the command runs."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "first.trace").write_text(os_course(scattered_pages(300, 60)))
    (tmp_path / "second.trace").write_text(os_course(scattered_pages(500, 90)))


def experiment(case: Case) -> Path:
    path = Path("e.toml")
    path.write_text(f"{HEAD}[{case.study}]\n{case.table}")
    return path


def own_columns(rows: list[dict[str, Any]], study: str) -> list[str]:
    """Each row as the command writes it."""
    return [json.dumps({name: row[name] for name in LAYOUTS[study].columns}) for row in rows]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.study)
def test_cells_have_the_keys_of_older_datasets(case: Case) -> None:
    read = read_experiment(experiment(case))
    plans = [read.layout.plan(dict(setting.options), 60) for setting in read.settings]
    keys = [json.dumps(cell["key"], sort_keys=True) for plan in plans for cell in plan.cells]
    assert hashlib.sha256("\n".join(keys).encode()).hexdigest()[:16] == KEYS[case.study], keys[0]


def test_a_file_is_known_by_its_content() -> None:
    Path("own.toml").write_text((PROFILES / "hdd.toml").read_text())
    digest = hashlib.sha256(Path("own.toml").read_bytes()).hexdigest()
    options = {"policy": ["lru"], "frames": "8", "device": "own.toml"}
    [cell] = _engine.plan("pages", options)["cells"]
    assert (cell["key"]["device_sha256"], cell["named"]["device"]) == (digest, "own.toml")
    [cell] = _engine.plan("pagecache", options)["cells"]
    assert json.loads(cell["key"]["cell"])["device"] == f"sha256 {digest}"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.study)
def test_a_sweep_that_was_interrupted_goes_on_and_gives_the_rows_of_the_command(
    case: Case, clockhand: Clockhand
) -> None:
    path = experiment(case)
    second = Path("second.trace")
    content = second.read_text()
    second.unlink()
    os.mkfifo(second)
    sweep = subprocess.Popen(
        [EXECUTABLE, "sweep", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    with open(second, "wb"):  # The first trace is done when the second one is opened.
        sweep.send_signal(signal.SIGINT)
    out, errors = sweep.communicate(timeout=300)
    assert (sweep.returncode, out) == (1, b""), errors
    half = case.cells // 2
    assert f"interrupted; {half} of {case.cells} cells are kept".encode() in errors
    second.unlink()
    second.write_text(content)
    resumed = clockhand("sweep", path, "--format", "json", "--html", "r.html")
    assert resumed.code == 0, resumed.err
    assert f"{case.cells} rows, {half} cells computed now" in resumed.err
    name, *options = case.command.split()
    alone = clockhand(name, "first.trace", "second.trace", *options, "--format", "json")
    assert alone.code == 0, alone.err
    swept = own_columns(json.loads(resumed.out), case.study)
    assert swept == own_columns(json.loads(alone.out), case.study)
    page = Path("r.html").read_text()
    assert "first.trace" in page and "second.trace" in page
    again = clockhand("sweep", path)
    assert "0 cells computed now" in again.err


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.study)
def test_a_task_is_computed_in_another_process(case: Case) -> None:
    read = read_experiment(experiment(case))
    tasks = list(tasks_of(read))
    assert len(tasks) == 2 * len(read.settings)
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        computed = list(pool.map(compute, pickle.loads(pickle.dumps(tasks))))
    rows = [row for one in computed for row in one.rows]
    assert len(rows) == case.cells
    dataset = Dataset("elsewhere", read.layout)
    swept = run_sweep(read).rows
    facts = {"command": "c", "version": "v", "created": "2026", "seed": 0, "traces": []}
    dataset.append(rows, facts)
    key = list(read.layout.key)
    assert dataset.cells().equals(swept.unique(key).sort(key).select(*read.layout.schema))


@pytest.mark.parametrize("case", CASES[1:], ids=lambda case: case.study)
def test_a_dataset_of_any_study_is_reported_without_its_experiment(
    case: Case, clockhand: Clockhand
) -> None:
    run_sweep(read_experiment(experiment(case)))
    run = clockhand("report", "datasets/e", "--html", "r.html")
    assert run.code == 0, run.err
    assert b"first.trace" in run.out
    assert "second.trace" in Path("r.html").read_text()
    rows = json.loads(clockhand("report", "datasets/e", "--format", "json").out)
    assert len(rows) == case.cells * case.rows_of_cell


def test_a_report_begins_with_what_was_asked_and_its_analyses(clockhand: Clockhand) -> None:
    Path("e.toml").write_text(
        'question = "Which one, <here>?"\nexpected = "The first."\n'
        'traces = ["first.trace", "second.trace"]\n[ssd]\n'
        'buffers = ["lru:total=8", "fab:total=8"]\nssds = "small"\n'
        '[[analysis]]\ntitle = "Erases of each"\nvalue = "host_writes"\nrows = ["buffer"]\n'
    )
    run = clockhand("sweep", "e.toml", "--report", "r.html", "--tables", "t")
    assert run.code == 0, run.err
    page = Path("r.html").read_text()
    head = page.partition('id="experiment"')[2].partition("</section>")[0]
    assert "Which one, &lt;here&gt;?" in head and "The first." in head
    assert "Erases of each" in head and "lru:total=8" in head
    assert page.index('id="experiment"') < page.index('class="part"')


def test_settings_that_differ_stand_in_parts_of_their_own(clockhand: Clockhand) -> None:
    Path("e.toml").write_text(
        f'{HEAD}[ssd]\nbuffers = "lru:total=8"\nssds = "small"\ndrain = [false, true]\n'
        'precondition = ["none", "fill"]\n'
    )
    run = clockhand("sweep", "e.toml", "--html", "r.html")
    assert run.code == 0, run.err
    assert b"first.trace (precondition fill, drain true)" in run.out
    assert "precondition none, drain false" in Path("r.html").read_text()
    assert read_experiment("e.toml").layout is LAYOUTS["ssd"]


@pytest.mark.parametrize("table", TABLES)
def test_a_sweep_gives_every_table_of_locality_and_computes_them_once(
    table: str, clockhand: Clockhand
) -> None:
    content = f'{HEAD}[locality]\npage_sizes = ["512", "4KiB"]\nrows = "{{}}"\n'
    Path("e.toml").write_text(content.format("summary"))
    assert run_sweep(read_experiment("e.toml")).computed == 4
    every = {"intervals": "100"}.get(table)
    length = "" if every is None else f'every = "{every}"\n'
    Path("e.toml").write_text(content.format(table) + length)
    swept = json.loads(clockhand("sweep", "e.toml", "--format", "json").out)
    traces = ("first.trace", "second.trace")
    rows: list[dict[str, Any]] = []
    for size in ("512", "4KiB"):
        lengths = () if every is None else ("--every", every)
        run = clockhand("locality", *traces, "--page-size", size, "--rows", table, *lengths,
                        "--format", "json")  # fmt: skip
        rows += json.loads(run.out)
    alone = [row for trace in traces for row in rows if row["trace"] == trace]
    assert [{name: row[name] for name in TABLES[table]} for row in swept] == alone


def test_each_page_size_of_a_sweep_of_locality_says_its_own_footprint(
    clockhand: Clockhand,
) -> None:
    Path("e.toml").write_text(f'{HEAD}[locality]\npage_sizes = ["512", "4KiB"]\n')
    run = clockhand("sweep", "e.toml")
    assert run.code == 0, run.err
    for size, title in (("512", "page_sizes 512"), ("4KiB", "page_sizes 4096")):
        alone = clockhand("locality", "first.trace", "--page-size", size).out.decode()
        said = alone.splitlines()[0].removeprefix("first.trace: ").split(";")[0]
        assert f"first.trace ({title}): {said}" in run.out.decode()


def test_samples_are_swept_as_curves_and_settings_have_parts_of_their_own(
    clockhand: Clockhand,
) -> None:
    Path("e.toml").write_text(f'{HEAD}[locality]\nsample = ["50%", 32]\nseed = [1, 2]\n')
    run = clockhand("sweep", "e.toml", "--html", "r.html")
    assert run.code == 0, run.err
    assert "8 rows, 8 cells computed now" in run.err
    assert "first.trace (sample 32, seed 2): 300 references to about" in run.out.decode()
    assert "pages were followed" in Path("r.html").read_text()
    rows = json.loads(clockhand("report", "datasets/e", "--format", "json").out)
    assert {row["trace"] for row in rows} == {"first.trace", "second.trace"}
    assert all(row["misses_standard_error"] is not None for row in rows)


def test_an_analysis_of_locality_compares_rankings() -> None:
    Path("e.toml").write_text(
        f'{HEAD}[locality]\n[[analysis]]\ntitle = "t"\nrows = ["trace", "policy"]\n'
        'relative_to = "write by recency"\n'
    )
    read = read_experiment("e.toml")
    sweep = run_sweep(read)
    table = analyse(sweep.rows, read.analyses[0], read.layout)
    shares = {
        (row["trace"], f"{row['op']} by {row['ranking']}"): row["inversion_share"]
        for row in sweep.reported().summary.to_dicts()
    }
    assert len(table) == 8
    for trace, ranking, mean in table.iter_rows():
        expected = shares[trace, ranking] / shares[trace, "write by recency"]
        assert mean == pytest.approx(expected)


def test_today_s_layout_and_the_table_of_pages_are_the_same_experiment() -> None:
    table = 'policies = "clock"\nframes = [3, 5]\n'
    Path("old.toml").write_text(HEAD + table + 'dataset = "d"\n')
    Path("new.toml").write_text(f'{HEAD}dataset = "d"\n[pages]\n{table}')
    first = run_sweep(read_experiment("old.toml"))
    second = run_sweep(read_experiment("new.toml"))
    assert (first.computed, second.computed) == (4, 0)
    assert first.rows.equals(second.rows)


def test_an_analysis_divides_by_a_buffer_of_the_same_size() -> None:
    Path("e.toml").write_text(
        f'{HEAD}[ssd]\nbuffers = ["lru:total=8", "fab:total=8", "lru:total=16", "fab:total=16"]\n'
        'ssds = "small"\n[[analysis]]\ntitle = "t"\nvalue = "host_writes"\nrelative_to = "lru"\n'
        'rows = ["trace", "policy", "buffer_pages"]\n'
    )
    read = read_experiment("e.toml")
    sweep = run_sweep(read)
    table = analyse(sweep.rows, read.analyses[0], read.layout)
    written = {(row["trace"], row["buffer"]): row["host_writes"] for row in sweep.rows.to_dicts()}
    for trace, policy, pages, mean in table.iter_rows():
        expected = written[trace, f"{policy}:total={pages}"] / written[trace, f"lru:total={pages}"]
        assert mean == pytest.approx(expected)


def test_a_drive_s_file_that_changed_is_another_cell(clockhand: Clockhand) -> None:
    page = clockhand("devices", "small").out.decode()
    assert "small" in page
    profile = (
        'summary = "x"\nsource = "y"\ncharged = "per-page"\n[read]\ntime_us = 10\n[write]\n'
        "time_us = {}\n"
    )
    device = Path("mine.toml")
    Path("e.toml").write_text(
        f'{HEAD}[filecache]\ncapacity = "20%"\ndevices = "mine.toml"\npolicies = "lru"\n'
    )
    computed = []
    for time_us in (20, 30, 20):
        device.write_text(profile.format(time_us).replace("time_us = 10", f"time_us = {time_us}"))
        computed.append(run_sweep(read_experiment("e.toml")).computed)
    assert computed == [2, 2, 0]


BAD = (
    ('[ssd]\nbuffers = "lru:total=8"\n[pages]\npolicies = "clock"\n', "asks one study"),
    ('[ssd]\nbuffers = "lru:total=8"\ndrain = 1\n', "[ssd] drain = 1 is not true or false"),
    ('[ssd]\nbufers = "lru:total=8"\n', "[ssd] unknown key 'bufers'"),
    ('[ssd]\nssds = "small"\n', "[ssd] there is no buffers"),
    ('[ssd]\nbuffers = "lru"\n', "has no size"),
    ('[ssd]\nbuffers = "lru:total=8"\nssds = "smal"\n', "smal"),
    ('[ssd]\nbuffers = "lru:total=8"\nendurance = 0\n', "[ssd] endurance 0 is out of range"),
    ('[ssd]\nbuffers = "lru:total=8"\nbuffer = "fab:total=8"\n', "given twice"),
    ('[filecache]\ncapacity = "x"\ndevices = "hdd"\n', 'capacity "x" is not a capacity'),
    ('[filecache]\ncapacity = "5%"\n', "no device is given"),
    (
        '[translate]\nmemory = "5%"\nwalk_levels = 9\n',
        "[translate] walk_levels 9 is out of range",
    ),
    ('[translate]\nmemory = "5%"\nratios = 0\n', "ratios 0 is no storage"),
    ('[translate]\ntlb = "8"\n', "by frames or by memory"),
    ('[pagecache]\npolicies = "bound"\nframes = 8\n', "the bound is not known"),
    ('[pagecache]\npolicies = "lru"\nframes = 8\nflush_age = "5s"\n', "flush_age needs a flusher"),
    ('[pages]\npolicies = "clock"\nframes = 8\nseed = -1\n', "[pages] seed -1 is out of range"),
    ('seed = 2\n[pages]\npolicies = "clock"\nframes = 8\nseed = 1\n', "seed is given twice"),
    ('frames = 8\n[ssd]\nbuffers = "lru:total=8"\n', "unknown key 'frames' beside [ssd]"),
    ('[ssd]\nbuffers = "lru:total=8"\n[[analysis]]\ntitle = "t"\nvalue = "speed"', "'speed'"),
    ('[locality]\nrows = "window"\n', "[locality] rows = 'window' is unknown; give one of summary"),
    ('[locality]\nsample = "1%"\nrows = "ranks"\n', "[locality] rows = 'ranks' needs the whole"),
    (
        '[locality]\nties = "first"\n',
        '[locality] ties "first" is unknown; give stable, recent or best',
    ),
    ('[locality]\nsample = "2"\n', '[locality] sample "2" is neither a rate nor'),
    ('[locality]\nmemory = "5%"\n', "[locality] unknown key 'memory'"),
    ('[locality]\n[[analysis]]\ntitle = "t"\nvalue = "io_time_us"', "'io_time_us'"),
)


@pytest.mark.parametrize(("content", "words"), BAD)
def test_a_bad_table_is_one_sentence_with_the_place(content: str, words: str) -> None:
    Path("bad.toml").write_text(HEAD + content)
    with pytest.raises(UsageError) as refused:
        read_experiment("bad.toml")
    sentence = str(refused.value)
    assert sentence.startswith("bad.toml: ") and words in sentence and "\n" not in sentence


def test_a_bad_table_is_wrong_usage_of_the_command(clockhand: Clockhand) -> None:
    Path("bad.toml").write_text(f'{HEAD}[ssd]\nbuffers = "lur:total=8"\n')
    run = clockhand("sweep", "bad.toml")
    assert run.code == 2
    assert_one_sentence(run)
    assert 'did you mean "lru"' in run.err


def test_every_study_with_options_is_swept_checked_and_printed() -> None:
    studies = set(_engine.options()) - {"reading"}  # How traces are read is no study.
    assert set(LAYOUTS) == studies
    for study in studies:
        assert callable(import_module(f"clockhand.command.{study}").print_tables)
    assert {case.study for case in CASES} == studies
    for study in studies:  # What is wrong is an option: the engine knows the study.
        with pytest.raises(Exception, match="unknown field"):
            _engine.plan(study, {"none": 1})


def test_rows_of_the_dataset_are_typed_as_declared() -> None:
    for layout in LAYOUTS.values():
        own = layout.study.schema
        assert {name: layout.schema[name] for name in own} == dict(own)
        assert all(name in layout.schema for name in layout.key)
    assert pl.DataFrame(schema=LAYOUTS["ssd"].schema)["wear_erases"].dtype == pl.List(pl.UInt32)
