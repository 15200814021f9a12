"""Policies in Python decide as those of the catalog do, and what is wrong with one is said."""

import os
import re
import signal
import subprocess
import textwrap
import time
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

import polars as pl
import pytest

import clockhand
from clockhand import ClockhandError, UsageError
from conftest import EXECUTABLE, Clockhand

ROOT = Path(__file__).resolve().parents[2]
TRACE = ROOT / "traces/freecell.parquet"
EXAMPLE = re.findall(
    r"^```python\n(.*?)^```", (ROOT / "docs/policies.md").read_text(), re.MULTILINE | re.DOTALL
)[0]
NAMES = ("policy", "policy_resolved")
OF_KINDS_OF_BITS = "permission_faults"
"""CLOCK of the catalog is known not to tell reads from writes; a policy of one's own may."""

LRU = """
from collections import OrderedDict
class Lru:
    def __init__(self):
        self.order = OrderedDict()
    def choose_victim(self, frames):
        frame = next(frame for frame in self.order if not frames.is_pinned(frame))
        del self.order[frame]
        return frame
    def loaded(self, frame, page, is_write, frames):
        self.order[frame] = page
    def hit(self, frame, is_write, frames):
        self.order.move_to_end(frame)
    def dropped(self, frame, frames):
        del self.order[frame]
"""

FIFO = """
class Fifo:
    def __init__(self, depth=0):
        self.queue = []
        self.depth = depth
    def choose_victim(self, frames):
        for frame in self.queue:
            if not frames.is_pinned(frame):
                self.queue.remove(frame)
                return frame
    def loaded(self, frame, page, is_write, frames):
        self.queue.append(frame)
    def dropped(self, frame, frames):
        self.queue.remove(frame)
"""


def pages_of(count: int, distinct: int) -> list[int]:
    return [position * 2_654_435_761 % 2**32 % distinct for position in range(count)]


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "trace.txt"
    lines = (f"{page * 4096:08x} {'RW'[page % 2]}\n" for page in pages_of(2000, 40))
    path.write_text("".join(lines))
    return path


def saved(tmp_path: Path, source: str) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(source)
    return path


def rows(policy: Any, **options: Any) -> pl.DataFrame:
    options = {"memory": "2%,10%,40%", **options}
    return clockhand.simulate(TRACE, policies=policy, limit=60_000, **options).rows.drop(
        *NAMES, OF_KINDS_OF_BITS
    )


@pytest.mark.parametrize("bits", ["exact", "mapped", "sensed"])
def test_the_example_of_the_documentation_is_clock(tmp_path: Path, bits: str) -> None:
    mine = saved(tmp_path, EXAMPLE)
    assert len(EXAMPLE.strip().splitlines()) <= 17
    assert rows(f"{mine}:Clock", bits=bits).equals(rows("clock", bits=bits))


def test_a_policy_that_is_told_of_hits_is_lru(tmp_path: Path) -> None:
    assert rows(f"{saved(tmp_path, LRU)}:Lru").equals(rows("lru"))


def test_a_policy_runs_in_the_other_studies(tmp_path: Path, trace: Path) -> None:
    for source, name, own in ((EXAMPLE, "Clock", "clock"), (LRU, "Lru", "lru")):
        mine = f"{saved(tmp_path, source)}:{name}"
        pair = [mine, own]
        translated = clockhand.translate(trace, policies=pair, memory="50%").rows
        cached = clockhand.pagecache(trace, policies=pair, memory="50%").rows
        for table in (translated, cached):
            first, second = (
                table.filter(pl.col("policy") == policy).drop(NAMES) for policy in pair
            )
            assert first.equals(second), name
        watched = clockhand.watch_policies(trace, policies=pair, frames=4, limit=200)
        assert watched.courses[0].misses == watched.courses[1].misses


def test_two_runs_give_the_same_rows(tmp_path: Path) -> None:
    source = """
import random
class Mine:
    def __init__(self, frames, seed):
        self.numbers = random.Random(seed)
    def choose_victim(self, frames):
        return self.numbers.randrange(len(frames))
"""
    mine = f"{saved(tmp_path, source)}:Mine"
    first = clockhand.simulate(TRACE, policies=[mine], frames=30, limit=20_000, seed=3).rows
    again = clockhand.simulate(TRACE, policies=[mine], frames=30, limit=20_000, seed=3).rows
    other = clockhand.simulate(TRACE, policies=[mine], frames=30, limit=20_000, seed=4).rows
    assert first.equals(again)
    assert first["read_ios"][0] != other["read_ios"][0]
    assert "seed=3" in first["policy_resolved"][0]


class Taken:
    """Keeps what it was made with."""

    made: list[dict[str, Any]] = []  # noqa: RUF012

    def __init__(
        self,
        frames: int,
        pages: int,
        write_read_ratio: Fraction,
        depth: int = 2,
        share: float = 0.5,
        exact: Fraction = Fraction(1, 3),
        eager: bool = False,
        order: Literal["up", "down"] = "up",
    ) -> None:
        own = locals()
        Taken.made.append({name: own[name] for name in own if name != "self"})
        self.queue: list[int] = []

    def choose_victim(self, frames: clockhand.Frames) -> int:
        return self.queue.pop(0)

    def loaded(self, frame: int, page: int, is_write: bool, frames: clockhand.Frames) -> None:
        self.queue.append(frame)


def test_parameters_are_given_as_the_signature_has_them(trace: Path) -> None:
    Taken.made.clear()
    clockhand.policy(Taken)
    text = "Taken:depth=7,share=1/4,exact=2/7,eager=true,order=down"
    result = clockhand.simulate(trace, policies=text, frames=4, device="unit").rows
    [made] = Taken.made
    assert made == {
        "frames": 4,
        "pages": 40,
        "write_read_ratio": Fraction(8),
        "depth": 7,
        "share": 0.25,
        "exact": Fraction(2, 7),
        "eager": True,
        "order": "down",
    }
    assert isinstance(made["share"], float)
    resolved = result["policy_resolved"][0]
    assert resolved.startswith("Taken:write_read_ratio=8,depth=7,share=1/4,exact=2/7,eager=true")
    assert re.search(r",order=down,sha256=[0-9a-f]{12}$", resolved)


def test_ranges_and_lists_of_parameters_work(tmp_path: Path, trace: Path) -> None:
    mine = f"{saved(tmp_path, FIFO)}:Fifo"
    result = clockhand.simulate(trace, policies=f"{mine}:depth=1..3,clock,{mine}", frames=4).rows
    names = [f"{mine}:depth=1", f"{mine}:depth=2", f"{mine}:depth=3", "clock", mine]
    assert result["policy"].to_list() == names


def test_a_class_is_taken_and_replaced_by_the_next_of_its_name(trace: Path) -> None:
    def made(last: bool) -> type:
        class Mine:
            def choose_victim(self, frames: clockhand.Frames) -> int:
                return len(frames) - 1 if self.last else 0

        vars_of: Any = Mine
        vars_of.last = last
        return Mine

    first = clockhand.simulate(trace, policies=[made(True), "clock"], frames=4).rows
    second = clockhand.simulate(trace, policies=made(False), frames=4).rows
    assert first["policy"].to_list() == ["Mine", "clock"]
    assert second["policy"].to_list() == ["Mine"]
    assert clockhand.simulate(trace, policies="Mine", frames=4).rows.equals(second)


def test_two_classes_of_one_name_are_refused() -> None:
    def choose_victim(self: object, frames: clockhand.Frames) -> int:
        return 0

    pair = [type("Mine", (), {"choose_victim": choose_victim}) for _ in range(2)]
    with pytest.raises(UsageError, match="two classes have this name; give them different ones"):
        clockhand.simulate(TRACE, policies=pair, frames=4, limit=10)


def test_what_the_file_raises_arrives_as_it_is(clockhand: Clockhand, tmp_path: Path) -> None:
    saved(tmp_path, "import math\nmath.sqrt(-1)\n")
    run = clockhand("check-policy", "mine.py:Mine")
    assert run.code == 1
    assert 'mine.py", line 2, in <module>' in run.err
    assert "its file raised this when it was loaded" in run.err
    assert "python/clockhand" not in run.err


def test_the_digest_of_a_class_follows_its_code_and_values(trace: Path) -> None:
    def digest(value: int) -> str:
        class Mine:
            kept: int = value

            def choose_victim(self, frames: clockhand.Frames) -> int:
                return self.kept if "a" in {"a", "b"} else 0

        rows = clockhand.simulate(trace, policies=Mine, frames=4, limit=10).rows
        return str(rows["policy_resolved"][0])

    assert digest(0) == digest(0) != digest(1)


def test_what_the_code_raises_arrives_as_it_is(tmp_path: Path, trace: Path) -> None:
    mine = saved(tmp_path, FIFO.replace("self.queue.append", "{}['nothing']; self.queue.append"))
    with pytest.raises(KeyError, match="nothing") as raised:
        clockhand.simulate(trace, policies=f"{mine}:Fifo,clock", frames=4)
    assert "loaded raised this at fault 1 of its memory of 4 frames" in raised.value.__notes__[0]


def test_the_command_shows_the_traceback_of_the_code(
    clockhand: Clockhand, tmp_path: Path, trace: Path
) -> None:
    saved(tmp_path, FIFO.replace("self.queue.remove(frame)", "raise ValueError('no')"))
    run = clockhand("simulate", trace, "--policy", "mine.py:Fifo", "--frames", "4")
    assert (run.code, run.out) == (1, b"")
    lines = run.err.strip().splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert 'mine.py", line 9, in choose_victim' in lines[1]
    assert "python/clockhand" not in run.err
    assert "ValueError: no" in lines
    assert lines[-1] == (
        "clockhand: policy mine.py:Fifo failed as is shown above; correct it there"
    )


def mine_that(choice: str) -> str:
    return FIFO.replace("return frame", f"return {choice}")


@pytest.mark.parametrize(
    ("choice", "sentence"),
    [
        ("None", "choose_victim returned None, which is no number of a frame, at fault 4"),
        ("'0'", "choose_victim returned '0', which is no number of a frame, at fault 4"),
        ("4", "choose_victim chose frame 4, which there is not (they go from 0 to 3), at fault 4"),
        ("-1", "choose_victim chose frame -1, which there is not"),
        ("frames.page(17)", "there is no frame 17; they go from 0 to 3"),
    ],
)
def test_a_wrong_choice_is_one_sentence(
    tmp_path: Path, trace: Path, choice: str, sentence: str
) -> None:
    mine = saved(tmp_path, mine_that(choice))
    with pytest.raises((ClockhandError, IndexError)) as raised:
        clockhand.simulate(trace, policies=f"{mine}:Fifo", frames=4)
    assert sentence in str(raised.value)


def test_frames_cannot_be_looked_at_outside_of_a_call() -> None:
    kept: list[clockhand.Frames] = []

    class Keeping:
        def choose_victim(self, frames: clockhand.Frames) -> int:
            kept.append(frames)
            return 0

    clockhand.simulate(TRACE, policies=Keeping, frames=1, limit=10)
    with pytest.raises(RuntimeError, match="only while Clockhand calls"):
        kept[0].page(0)


def test_bits_cannot_be_changed_by_a_hit(tmp_path: Path, trace: Path) -> None:
    mine = saved(tmp_path, LRU.replace("self.order.move_to_end(frame)", "frames.clear_bits(frame)"))
    with pytest.raises(RuntimeError, match="in choose_victim, loaded and tick alone"):
        clockhand.simulate(trace, policies=f"{mine}:Lru", frames=30)


BAD: dict[str, tuple[str, str, str]] = {
    "no file": ("", "none.py:Mine", "none.py cannot be read (No such file or directory)"),
    "no class": (FIFO, "mine.py:Mine", "mine.py has no class 'Mine'; give FILE.py:CLASS, there"),
    "no name of a class": (FIFO, "mine.py", "it names no class; give FILE.py:CLASS, there are: "),
    "no Python": ("class Mine\n", "mine.py:Mine", "mine.py, line 1: expected ':'; correct it"),
    "null bytes": ("\0", "mine.py:Mine", "mine.py"),
    "the end": (
        "raise SystemExit(3)",
        "mine.py:Mine",
        "mine.py ends Python when it is loaded; put",
    ),
    "too deep": ("x = " + "-" * 100_000 + "1", "mine.py:Mine", "mine.py"),
    "no method": (
        "class Mine: ...",
        "mine.py:Mine",
        "class Mine lacks choose_victim(self, frames)",
    ),
    "wrong signature": (
        FIFO.replace("choose_victim(self, frames)", "choose_victim(self)"),
        "mine.py:Fifo",
        "choose_victim(self) cannot be called; it must take (self, frames)",
    ),
    "no such parameter": (FIFO, "mine.py:Fifo:deep=1", 'no parameter "deep"; did you mean "depth"'),
    "out of range": (FIFO, "mine.py:Fifo:depth=-1", "depth=-1 is out of range; it takes a whole"),
    "no default": (FIFO.replace("depth=0", "depth"), "mine.py:Fifo", "depth of __init__ has no"),
    "default": (FIFO.replace("depth=0", "depth=[]"), "mine.py:Fifo", "has the default []; give a"),
    "word": (FIFO.replace("depth=0", "depth='a'"), "mine.py:Fifo", 'depth: Literal["a", ...]'),
    "another version": (FIFO, "mine.py:Fifo:sha256=0123", "sha256=0123 is out of range; it takes"),
    "no period": (
        FIFO + "    def tick(self, frames): ...",
        "mine.py:Fifo",
        "tick needs a period of 1 or more references, not None; add period = 1000",
    ),
}


@pytest.mark.parametrize("what", BAD)
def test_what_is_no_policy_is_refused_in_one_sentence(
    clockhand: Clockhand, tmp_path: Path, trace: Path, what: str
) -> None:
    source, name, sentence = BAD[what]
    saved(tmp_path, source)
    run = clockhand("simulate", trace, "--policy", name, "--frames", "4")
    assert (run.code, run.out) == (2, b""), run.err
    assert len(run.err.strip().splitlines()) == 1
    assert sentence in run.err


def test_a_name_of_the_catalog_stays_with_it() -> None:
    with pytest.raises(UsageError, match="the catalog has a policy of this name"):
        clockhand.policy(type("clock", (), {"choose_victim": lambda self, frames: 0}))


def test_real_memory_is_not_paged_by_python(clockhand: Clockhand, tmp_path: Path) -> None:
    saved(tmp_path, FIFO)
    run = clockhand("run", "--policy", "mine.py:Fifo", "--frames", "64", "--", "true")
    assert run.code != 0
    assert "Traceback" not in run.err


def test_a_sweep_computes_an_edited_policy_anew(tmp_path: Path, trace: Path) -> None:
    from clockhand.sweep import read_experiment, run_sweep

    mine = saved(tmp_path, FIFO)
    experiment = tmp_path / "own.toml"
    experiment.write_text(
        textwrap.dedent(f"""
        question = "Does an edited policy count as another one?"
        expected = "It does."
        traces = ["{trace}"]
        policies = ["{mine}:Fifo", "clock"]
        frames = [4, 8]
        """)
    )
    dataset = tmp_path / "dataset"

    def run() -> Any:
        return run_sweep(read_experiment(experiment), dataset=dataset)

    assert [run().computed, run().computed] == [4, 0]
    first = run().rows
    mine.write_text(FIFO.replace("for frame in self.queue", "for frame in reversed(self.queue)"))
    changed = run()
    assert changed.computed == 2
    assert not changed.rows.equals(first)
    mine.write_text(FIFO)
    assert run().computed == 0
    assert run().rows.equals(first)


def test_a_source_that_changes_during_a_sweep_gives_no_cell(
    tmp_path: Path, trace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from clockhand.sweep import read_experiment, run_sweep
    from clockhand.sweep.task import TaskRun

    mine = saved(tmp_path, FIFO)
    run = TaskRun.run

    def edited(*arguments: Any) -> None:
        mine.write_text(FIFO + "# another version")
        run(*arguments)

    monkeypatch.setattr(TaskRun, "run", edited)
    experiment = tmp_path / "own.toml"
    experiment.write_text(
        f'question = "?"\nexpected = "."\ntraces = ["{trace}"]\nframes = [4, 8]\n'
        f'policies = ["{mine}:Fifo"]\n'
    )
    with pytest.raises(ClockhandError, match="its source changed while it ran; run the command"):
        run_sweep(read_experiment(experiment), dataset=tmp_path / "dataset")
    assert not list((tmp_path / "dataset").glob("part-*"))


def test_several_cells_at_once_count_as_one_after_the_other(tmp_path: Path) -> None:
    pair = [f"{saved(tmp_path, EXAMPLE + LRU)}:{name}" for name in ("Clock", "Lru")]
    options: dict[str, Any] = {"policies": pair, "frames": "10,12,14,16,18,20", "limit": 20_000}
    one, four = (clockhand.simulate(TRACE, **options, jobs=jobs).rows for jobs in (1, 4))
    assert one.equals(four)


def test_a_policy_can_be_recommended(tmp_path: Path, trace: Path) -> None:
    source = """
class Oracle:
    \"\"\"Keeps one page of the loop out, and so does best.\"\"\"
    def __init__(self, write_read_ratio):
        self.newest = None
    def choose_victim(self, frames):
        return self.newest
    def loaded(self, frame, page, is_write, frames):
        self.newest = frame
"""
    loop = tmp_path / "loop.txt"
    loop.write_text("".join(f"{page * 4096:08x} R\n" for page in range(30)) * 40)
    oracle = f"{saved(tmp_path, source)}:Oracle"
    answer = clockhand.recommend(loop, policies=oracle, frames=20)
    assert oracle in answer.rows["policy"].to_list()
    times = dict(answer.rows.select("policy", "io_time_us").iter_rows())
    assert times[answer.policy] <= times[oracle] < times["lru"]
    with pytest.raises(UsageError, match="in Python, which pages no real memory"):
        clockhand.recommend(loop, policies=oracle, frames=20, purpose="pager")
    # `all` stands for what can be recommended; it was refused, because `min` cannot.
    for beside in ("all", "c*,lru"):
        again = clockhand.recommend(loop, policies=[beside, oracle], frames=20)
        assert again.sentences == answer.sentences and again.rows.equals(answer.rows)
    with pytest.raises(UsageError, match="min cannot be recommended; it is offline"):
        clockhand.recommend(loop, policies=["min", oracle], frames=20)


def test_the_page_of_a_policy_is_its_docstring(clockhand: Clockhand, tmp_path: Path) -> None:
    saved(
        tmp_path,
        FIFO.replace("depth=0):", "depth=0):\n        'no page'").replace(
            "class Fifo:", 'class Fifo:\n    """First in, first out.\n\n    As in a queue."""'
        ),
    )
    run = clockhand("policies", "mine.py:Fifo")
    assert run.code == 0, run.err
    for words in ("First in, first out.", "As in a queue.", "depth", "sha256"):
        assert words in run.out.decode()


def test_an_interruption_ends_a_method_that_never_returns(tmp_path: Path, trace: Path) -> None:
    started = tmp_path / "started"
    source = f"""
class Mine:
    def choose_victim(self, frames):
        open({str(started)!r}, "w").close()
        while True:
            pass
"""
    words = [EXECUTABLE, "simulate", trace, "--policy", f"{saved(tmp_path, source)}:Mine,clock"]
    process = subprocess.Popen(
        [*words, "--frames", "4"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    while not started.exists() and process.poll() is None:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=300)
    assert (process.returncode, out) == (1, b""), err
    assert err == b"clockhand: interrupted; nothing was written\n"


@pytest.fixture
def own_file(tmp_path: Path) -> Path:
    """A file with a policy."""
    path = tmp_path / "mine.py"
    path.write_text("class Mine:\n    def choose_victim(self, frames): return 0\n")
    return path


# A library was refused for less.
def test_a_file_that_others_can_write_is_refused(own_file: Path) -> None:
    for mode in (0o666, 0o664, 0o646):
        own_file.chmod(mode)
        with pytest.raises(
            UsageError, match=r"others can write to .*; take that away with: chmod go-w"
        ):
            clockhand.check_policy(f"{own_file}:Mine")
    own_file.chmod(0o644)
    assert not clockhand.check_policy(f"{own_file}:Mine").rules.is_empty()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to another user")
def test_the_file_of_another_user_is_refused(own_file: Path, tmp_path: Path) -> None:
    os.chown(own_file, 12345, 12345)
    (tmp_path / "link.py").symlink_to(own_file)
    for name in ("mine.py", "link.py"):
        with pytest.raises(UsageError, match="belongs to another user, whose code would run"):
            clockhand.check_policy(f"{tmp_path / name}:Mine")


def test_what_is_no_file_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    with pytest.raises(UsageError, match="is no regular file; name a file with a policy"):
        clockhand.check_policy(f"{tmp_path}/pipe.py:Mine")
