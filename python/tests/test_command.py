"""What the command prints and writes, for people and for scripts."""

import bz2
import gzip
import io
import json
import lzma
import os
import pty
import re
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pyarrow
import pytest
from polars.testing import assert_frame_equal

from clockhand import __version__, simulate
from clockhand.study.columns import schema
from conftest import EXECUTABLE, Clockhand, assert_one_sentence, os_course, scattered_pages

CONTRACT = [
    "trace",
    "policy",
    "frames",
    "page_bytes",
    "device",
    "references",
    "read_references",
    "write_references",
    "hits",
    "misses",
    "read_misses",
    "write_misses",
    "read_ios",
    "write_ios",
    "clean_evictions",
    "dirty_evictions",
    "io_time_us",
    "energy_uj",
]


def simulated(clockhand: Clockhand, *arguments: str) -> list[dict[str, object]]:
    """Rows of `simulate --format json`, which must have succeeded and said nothing else."""
    run = clockhand("simulate", *arguments, "--format", "json")
    assert (run.code, run.err) == (0, "")
    rows = json.loads(run.out)
    assert isinstance(rows, list)
    return rows


@pytest.mark.usefixtures("textbook")
def test_the_textbook_string_has_the_misses_of_the_textbooks(clockhand: Clockhand) -> None:
    policies = ["--policy", "fifo", "--policy", "lru", "--policy", "min"]
    rows = simulated(clockhand, "textbook.trace", *policies, "--frames", "3")
    assert [(row["policy"], row["misses"]) for row in rows] == [
        ("fifo", 15),
        ("lru", 12),
        ("min", 9),
    ]


@pytest.mark.usefixtures("textbook")
def test_json_has_the_columns_of_the_contract_first(clockhand: Clockhand) -> None:
    (row,) = simulated(clockhand, "textbook.trace", "--policy", "clock", "--frames", "3")
    assert list(row)[: len(CONTRACT)] == CONTRACT
    assert list(row) == list(schema("pages"))
    assert row["references"] == 20
    assert row["write_references"] == 9
    assert row["energy_uj"] is None


@pytest.mark.usefixtures("textbook")
def test_rows_come_in_the_order_trace_size_policy_with_duplicates(
    clockhand: Clockhand, tmp_path: Path
) -> None:
    (tmp_path / "other.trace").write_text(os_course([1, 2, 3]))
    traces = ["textbook.trace", "other.trace", "textbook.trace"]
    policies = ["lru", "clock", "lru"]
    given = [word for policy in policies for word in ("--policy", policy)]
    rows = simulated(clockhand, *traces, *given, "--frames", "4,2,4")
    assert [(row["trace"], row["frames"], row["policy"]) for row in rows] == [
        (trace, frames, policy) for trace in traces for frames in (4, 2, 4) for policy in policies
    ]


@pytest.mark.usefixtures("textbook")
def test_policy_echoes_and_policy_resolved_adds_defaults(clockhand: Clockhand) -> None:
    rows = simulated(
        clockhand, "textbook.trace", "--policy", "clock", "--policy", "cflru:window_share=0.5",
        "--policy", "craw", "--frames", "3", "--device", "mlc-nand",
    )  # fmt: skip
    assert [row["policy"] for row in rows] == ["clock", "cflru:window_share=0.5", "craw"]
    assert [row["policy_resolved"] for row in rows] == [
        "clock:insert_ref=0",
        "cflru:window_share=1/2",
        "craw:c=40/3,ghosts=exclusive,write_back=lazy",
    ]


def test_all_formats_and_python_give_the_same_rows(
    clockhand: Clockhand, textbook: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(textbook.parent)
    policies = ["clock", "craw", "bound"]
    expected = simulate(
        "textbook.trace", policies=policies, frames=[2, 3], device="cflru-nand"
    ).rows
    given = [word for policy in policies for word in ("--policy", policy)]
    command = ["simulate", "textbook.trace", *given, "--frames", "2,3", "--device", "cflru-nand"]
    readers: dict[str, Callable[[bytes], pl.DataFrame]] = {
        "json": lambda content: pl.DataFrame(json.loads(content), schema=schema("pages")),
        "csv": lambda content: pl.read_csv(content, schema=schema("pages")),
        "parquet": lambda content: pl.read_parquet(io.BytesIO(content)),
    }
    for format, read in readers.items():
        printed = clockhand(*command, "--format", format)
        written = clockhand(*command, "--out", f"rows.{format}")
        assert (printed.code, printed.err) == (0, "")
        assert written.err == f"rows.{format}: the rows as {format}\n"
        assert (written.code, written.out) == (0, b"")
        assert printed.out == (textbook.parent / f"rows.{format}").read_bytes()
        assert_frame_equal(read(printed.out), expected)


@pytest.mark.usefixtures("textbook")
def test_a_table_is_for_people(clockhand: Clockhand, tmp_path: Path) -> None:
    command = ["simulate", "textbook.trace", "--policy", "clock", "--policy", "lru"]
    run = clockhand(*command, "--frames", "3,4")
    assert (run.code, run.err) == (0, "")
    table = run.out.decode()
    assert "textbook.trace: 20 references to 6 pages, 9 writes; device slc-nand\n" in table
    assert re.search(r"3 +50\.0 % +lru +40\.000 +12 +4 ", table)
    assert clockhand(*command, "--frames", "3,4", "--out", "rows.txt").code == 0
    assert (tmp_path / "rows.txt").read_text() == table


@pytest.mark.usefixtures("textbook")
def test_the_tables_show_the_distance_to_the_bound_where_it_was_computed(
    clockhand: Clockhand,
) -> None:
    command = ["textbook.trace", "--policy", "lru", "--policy", "bound", "--frames", "3,4"]
    rows = simulated(clockhand, *command)
    times_us = [row["io_time_us"] for row in rows]
    ratios = [f"{times_us[0] / times_us[1]:.3f}", f"{times_us[2] / times_us[3]:.3f}"]
    table = clockhand("simulate", *command).out.decode()
    assert "vs bound" in table
    assert "I/O time over the lower bound, by frames" in table
    assert re.search(rf"^ *lru +{ratios[0]} +{ratios[1]} *$", table, re.MULTILINE)
    alone = clockhand("simulate", *command[:3], *command[5:]).out.decode()
    assert "bound" not in alone


@pytest.mark.usefixtures("textbook")
def test_a_narrow_terminal_cuts_no_number(clockhand: Clockhand) -> None:
    narrow = {**os.environ, "COLUMNS": "20"}
    command = ["simulate", "textbook.trace", "--policy", "clock", "--frames", "3"]
    assert b"45.000" in clockhand(*command, env=narrow).out


@pytest.mark.usefixtures("textbook")
def test_same_command_same_bytes_however_many_threads(clockhand: Clockhand) -> None:
    command = ["simulate", "textbook.trace", "--memory", "1%..100%", "--format", "json"]
    command += ["--policy", "clock", "--policy", "craw", "--policy", "min"]
    first, *others = [clockhand(*command, "--jobs", jobs).out for jobs in ("1", "1", "2")]
    assert len(json.loads(first)) == 300
    assert others == [first, first]


def test_compressed_traces_are_read_directly_and_from_standard_input(
    clockhand: Clockhand, textbook: Path
) -> None:
    content = textbook.read_bytes()
    compressed = {
        "textbook.gz": gzip.compress(content),
        "textbook.xz": lzma.compress(content),
        "textbook.bz2": bz2.compress(content),
        "textbook.zst": bytes(pyarrow.Codec("zstd").compress(content)),
    }
    for name, stored in compressed.items():
        textbook.with_name(name).write_bytes(stored)
    command = ["--policy", "lru", "--frames", "3"]
    plain, *rows = simulated(clockhand, textbook.name, *compressed, *command)
    assert rows == [{**plain, "trace": name} for name in compressed]
    for stored in compressed.values():
        run = clockhand("simulate", "-", *command, "--format", "json", input=stored)
        assert (run.code, run.err) == (0, "")
        assert json.loads(run.out) == [{**plain, "trace": "-"}]


def test_trace_format_decides_what_a_file_is(clockhand: Clockhand, tmp_path: Path) -> None:
    (tmp_path / "accesses").write_text(
        "==1== lackey\n L 00001000,4\n S 00002000,4\n M 00001000,4\n"
    )
    command = ["accesses", "--policy", "lru", "--frames", "1"]
    (row,) = simulated(clockhand, *command, "--trace-format", "lackey")
    assert (row["read_references"], row["write_references"]) == (2, 2)
    assert simulated(clockhand, *command) == [row]
    refused = clockhand("simulate", *command, "--trace-format", "os-course")
    assert_one_sentence(refused)


def test_skipped_lines_are_counted_and_shown(clockhand: Clockhand, tmp_path: Path) -> None:
    lines = os_course(scattered_pages(40)).splitlines(keepends=True)
    (tmp_path / "trace").write_text("".join([*lines[:20], "garbage\n", *lines[20:]]))
    run = clockhand("simulate", "trace", "--policy", "lru", "--frames", "3", "--format", "json")
    assert run.code == 0
    assert json.loads(run.out)[0]["references"] == 40
    assert "trace: malformed records that were skipped: 1 (record 21: " in run.err
    converted = clockhand("trace", "convert", "trace", "trace.parquet")
    assert converted.err == run.err + "trace.parquet: 40 requests as parquet\n"


@pytest.mark.usefixtures("textbook")
def test_report_figures_and_rows_are_written_together(clockhand: Clockhand, tmp_path: Path) -> None:
    run = clockhand(
        "simulate", "textbook.trace", "--policy", "clock", "--policy", "craw", "--frames", "3,4",
        "--report", "report.html", "--plots", "new/figures", "--out", "rows.csv",
    )  # fmt: skip
    figures = list((tmp_path / "new/figures").iterdir())
    # Nothing was printed: who asked for a report did not see that there is one.
    assert (run.code, run.out) == (0, b"")
    assert run.err == (
        "report.html: the report; open it in a browser\n"
        f"new/figures: {len(figures)} files\n"
        "rows.csv: the rows as csv\n"
    )
    quiet = ("--quiet", "--report", "quiet.html", "--out", "quiet.csv")
    assert clockhand("simulate", "textbook.trace", "--policy=lru", "--frames=3", *quiet).err == ""
    assert "textbook.trace" in (tmp_path / "report.html").read_text()
    assert (tmp_path / "new/figures/io_time.svg").exists()
    assert len(pl.read_csv(tmp_path / "rows.csv")) == 4


@pytest.mark.usefixtures("textbook")
def test_rows_can_be_written_through_a_pipe(clockhand: Clockhand) -> None:
    command = ["simulate", "textbook.trace", "--policy", "clock", "--frames", "3"]
    run = clockhand(*command, "--format", "csv", "--out", "/dev/stdout")
    assert (run.code, run.err) == (0, "")
    assert run.out == clockhand(*command, "--format", "csv").out


HOSTILE_NAMES = (
    b"new\nline",
    b"<script>alert(1)<.script>",
    b"\xff\xfe",
    b"esc\x1b[31mred",
    'comma, "quote" \N{RIGHT-TO-LEFT OVERRIDE}'.encode(),
    b"--frames",
)


@pytest.fixture
def hostile(textbook: Path) -> Path:
    """A folder with files of hostile names."""
    for name in HOSTILE_NAMES:
        os.link(textbook, os.fsencode(textbook.parent) + b"/" + name)
    return textbook.parent


def test_hostile_file_names_are_data_in_rows_and_reports(
    clockhand: Clockhand, hostile: Path
) -> None:
    command = ["simulate", "--policy", "lru", "--frames", "3", "--report", "report.html"]
    run = clockhand(*command, "--format", "json", "--", *HOSTILE_NAMES)
    assert (run.code, run.err) == (0, "report.html: the report; open it in a browser\n")
    shown = [name.decode(errors="replace") for name in HOSTILE_NAMES]
    assert [row["trace"] for row in json.loads(run.out)] == shown
    assert "<script>alert" not in (hostile / "report.html").read_text()


@pytest.mark.usefixtures("hostile")
def test_hostile_file_names_do_nothing_to_a_terminal(clockhand: Clockhand) -> None:
    table = clockhand("simulate", "--policy", "lru", "--frames", "3", "--", *HOSTILE_NAMES)
    infos = [clockhand("trace", "info", "--", name) for name in HOSTILE_NAMES]
    for run in (table, *infos):
        assert (run.code, run.err) == (0, "")
        assert "\x1b" not in run.out.decode()
        assert "\N{RIGHT-TO-LEFT OVERRIDE}" not in run.out.decode()
    refused = clockhand("trace", "info", "--", b"\xff\n\x1b absent")
    assert_one_sentence(refused)
    assert "\x1b" not in refused.err


@pytest.mark.usefixtures("textbook")
@pytest.mark.parametrize("format", ["table", "json", "csv"])
def test_a_reader_that_goes_away_is_no_reason_to_complain(tmp_path: Path, format: str) -> None:
    shell = f"{EXECUTABLE} simulate textbook.trace --policy lru --policy craw --policy car "
    shell += f"--memory 1%..100%,1%..100%,1%..100% --format {format} | head -c 10"
    done = subprocess.run(["sh", "-c", shell], cwd=tmp_path, capture_output=True, timeout=300)
    assert (len(done.stdout), done.stderr) == (10, b"")


def test_version_and_help(clockhand: Clockhand) -> None:
    assert clockhand("--version").out.decode() == f"clockhand {__version__}\n"
    run = clockhand("--help")
    assert run.code == 0
    for command in ("simulate", "policies", "devices", "formats", "trace"):
        assert re.search(rf"^  {command} ", run.out.decode(), re.MULTILINE)


@pytest.mark.parametrize("group", [[], ["trace"]])
def test_without_a_command_help_is_shown_as_wrong_usage(
    clockhand: Clockhand, group: list[str]
) -> None:
    run = clockhand(*group)
    assert (run.code, run.out) == (2, b"")
    assert run.err == clockhand(*group, "--help").out.decode()


def left_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def wait_until(condition: Callable[[], bool]) -> None:
    for _ in range(600):
        if condition():
            return
        time.sleep(0.05)
    raise TimeoutError("waited 30 s")


def processor_time_s(process: subprocess.Popen[bytes]) -> float:
    fields = Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_simulation_of_a_stalled_pipe_leaves_nothing(
    tmp_path: Path, stop: signal.Signals
) -> None:
    command = [EXECUTABLE, "simulate", "-", "--policy", "lru", "--frames", "30"]
    command += ["--out", "rows.json", "--report", "report.html", "--plots", "figures"]
    with subprocess.Popen(
        command, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdin is not None and process.stderr is not None
        # More than a pipe holds: when it is written, the command reads.
        process.stdin.write(os_course(scattered_pages(100_000)).encode())
        process.stdin.flush()
        process.send_signal(stop)
        assert process.wait(timeout=300) == 1
        assert process.stderr.read() == b"clockhand: interrupted; nothing was written\n"
    assert left_in(tmp_path) == []


def test_a_stopped_conversion_of_a_stalled_pipe_leaves_nothing(tmp_path: Path) -> None:
    command = [EXECUTABLE, "trace", "convert", "-", "trace.parquet"]
    with subprocess.Popen(
        command, cwd=tmp_path, stdin=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdin is not None and process.stderr is not None
        process.stdin.write(os_course(scattered_pages(200_000)).encode())
        process.stdin.flush()
        wait_until(lambda: left_in(tmp_path) != [])
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=300) == 1
        assert process.stderr.read() == b"clockhand: interrupted; nothing was written\n"
    assert left_in(tmp_path) == []


def read_to_the_end(terminal: int, shown: bytearray) -> None:
    """Adds what the other end writes: one that is not read would block it in the end."""
    try:
        while part := os.read(terminal, 65536):
            shown += part
    except OSError:
        pass  # The other end is closed and everything was read.


def test_a_terminal_shows_progress_with_the_time_left_until_ctrl_c(tmp_path: Path) -> None:
    (tmp_path / "long.trace").write_text(os_course(scattered_pages(200_000)))
    command = [EXECUTABLE, "simulate", "long.trace", "--memory", "1%..100%", "--jobs", "1"]
    command += ["--policy", "car"] * 40 + ["--out", "rows.json", "--report", "report.html"]
    terminal, its_end = pty.openpty()
    shown = bytearray()
    reading = threading.Thread(target=read_to_the_end, args=(terminal, shown))
    reading.start()
    with subprocess.Popen(
        command, cwd=tmp_path, stdin=its_end, stdout=subprocess.PIPE, stderr=its_end
    ) as process:
        os.close(its_end)
        try:
            wait_until(lambda: b" left" in shown and processor_time_s(process) > 2)
            process.send_signal(signal.SIGINT)
            assert process.wait(timeout=300) == 1
        finally:
            process.kill()
        assert process.stdout is not None
        assert process.stdout.read() == b""
    reading.join()
    os.close(terminal)
    assert b"replaying" in shown
    assert re.search(rb"\d:\d\d left", shown)
    assert shown.endswith(b"clockhand: interrupted; nothing was written\r\n")
    assert left_in(tmp_path) == ["long.trace"]
