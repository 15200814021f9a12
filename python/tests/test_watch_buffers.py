"""Write buffers step by step: the steps are those of ``ssd``, and the page plays them."""

import json
from pathlib import Path
from typing import Any

import pytest

from clockhand import Trace, UsageError, run_ssd, watch_buffers, write_buffers
from conftest import Clockhand, assert_one_sentence, os_course, scattered_pages
from test_report_browser import HOSTILE, browser  # noqa: F401
from test_watch import opened, pressed

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "crates/policy/tests/golden"
NAMES = write_buffers()["name"].to_list()
DRIVE = "dnv-textbook:size=1MiB,pages_per_block=4"
REFERENCE_BIT, DIRTY = 1, 4


def mixed(count: int = 400, distinct: int = 60) -> Trace:
    pages = scattered_pages(count, distinct)
    return Trace.from_arrays(
        [page % 3 != 0 for page in pages], [page * 4096 for page in pages], name="scattered"
    )


def summed(requests: list[tuple[str, int | None]], steps: list[dict[str, Any]]) -> dict[str, int]:
    """Counts of a course, from its steps alone."""
    events = [event for step in steps for event in step["events"]]
    flushed = [page for event in events if event["action"] == "flush" for page in event["pages"]]
    hits = [asked for (asked, _), step in zip(requests, steps, strict=True) if step["hit"]]
    return {
        "read_hits": hits.count("read"),
        "write_hits": hits.count("write"),
        "batches": sum(event["action"] == "flush" for event in events),
        "migrations": sum(event["action"] == "migrate" for event in events),
        "dirty_pages_flushed": sum(dirty for _, dirty, _, _ in flushed),
        "clean_pages_flushed": sum(not dirty for _, dirty, _, _ in flushed),
        "padding_reads": sum(source == "flash" for _, _, source, _ in flushed),
        "nvm_writes": sum(step["nvm_writes"] for step in steps),
        "host_writes": sum(step["drive"]["host_writes"] for step in steps),
        "flash_programs": sum(step["drive"]["flash_programs"] for step in steps),
        "erases": sum(step["drive"]["erases"] for step in steps),
        "residual_dirty": steps[-1]["dirty_pages"],
    }


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("drain", [False, True])
def test_steps_add_up_to_the_counts_of_a_run(name: str, drain: bool) -> None:
    options = {"buffers": f"{name}:total=12", "drain": drain}
    watched = watch_buffers(mixed(), ssd=DRIVE, **options)
    (course,) = watched.courses
    row = run_ssd(mixed(), ssds=DRIVE, **options).rows.row(0, named=True)
    counts = summed(watched.requests, course.steps)
    assert counts == {key: row[key] for key in counts}
    assert counts["erases"] > 0
    assert dict(course.row) == row
    assert len(course.steps) == row["references"] + drain


def listed(step: dict[str, Any]) -> list[tuple[int, int]]:
    """The pages that a step's lists show as buffered, with their states."""
    lists = [shown for shown in step["lists"] if shown["kind"] != "ghosts"]
    of_lists = [tuple(page) for shown in lists for page in shown["pages"]]
    blocks = [block for shown in lists for block in shown["blocks"] or ()]
    return of_lists + [tuple(page) for _, _, pages in blocks for page in pages]


@pytest.mark.parametrize("name", NAMES)
def test_each_step_shows_the_buffer_as_it_is(name: str) -> None:
    watched = watch_buffers(mixed(), buffers=f"{name}:total=12", ssd=DRIVE)
    (course,) = watched.courses
    held: set[int] = set()
    for (asked, page), step in zip(watched.requests, course.steps, strict=True):
        assert (step["hit"] is not None) == (page in held)
        shown = set(listed(step))
        held = {number for number, _ in shown}
        assert len(shown) == len(held) == step["dram_pages"] + step["nvm_pages"]
        assert sum(bool(state & DIRTY) for _, state in shown) == step["dirty_pages"]
        assert asked != "write" or page in held
        assert step["dram_pages"] <= course.dram_capacity
        assert step["nvm_pages"] <= course.nvm_capacity


def golden_state(shown: dict[str, Any]) -> list[Any]:
    """A list as the step tables write it."""
    if shown["blocks"] is None:
        entries = shown["pages"]
        if shown["name"] != "dram_from_hand":
            return [page for page, _ in entries]
        return [[page, int(state & DIRTY != 0), state & REFERENCE_BIT] for page, state in entries]
    if shown["name"] == "groups":
        return [
            [block, [[page, int(state & DIRTY != 0)] for page, state in pages]]
            for block, _, pages in shown["blocks"]
        ]
    bit = shown["name"] == "nvm_from_hand"
    return [
        [block, [page for page, _ in pages], *([int(referenced)] if bit else [])]
        for block, referenced, pages in shown["blocks"]
    ]


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("buffer_*.json")), ids=lambda path: path.stem)
def test_steps_are_those_of_the_step_tables(path: Path) -> None:
    table = json.loads(path.read_text())
    given = table["params"]
    sizes = ("capacity", "dram", "nvm", "ppb")
    own = {key: str(it).lower() for key, it in given.items() if key not in sizes}
    total = given["dram"] + given["nvm"] if "nvm" in given else given["capacity"]
    if "nvm" in given:
        own["dram_share"] = f"{given['dram']}/{total}"
    settings = ",".join(f"{key}={value}" for key, value in {"total": total, **own}.items())
    trace = Trace.from_arrays(
        [step[0] for step in table["trace"]], [int(step[1:]) * 4096 for step in table["trace"]]
    )
    buffer = f"{table['policy'].replace('_', '-')}:{settings}"
    watched = watch_buffers(trace, buffers=buffer, ssd=DRIVE)
    assert watched.pages_per_block == given["ppb"]
    for step, expected in zip(watched.courses[0].steps, table["steps"], strict=True):
        flushed = [
            [page for page, *_ in event["pages"]]
            for event in step["events"]
            if event["action"] == "flush"
        ]
        assert (step["hit"] is not None, flushed) == (expected["hit"], expected["flushed"])
        state = {shown["name"]: golden_state(shown) for shown in step["lists"]}
        assert state == expected["state"]


def test_lists_tell_their_memory_and_whether_a_hand_goes_around() -> None:
    trace = mixed(40)
    kinds = {}
    for name in ("clock-dnv", "cbm", "lb-clock", "clock", "craw"):
        (course,) = watch_buffers(trace, buffers=f"{name}:total=12", ssd=DRIVE).courses
        kinds[name] = [
            (shown["name"], shown["memory"], shown["kind"]) for shown in course.steps[-1]["lists"]
        ]
    assert kinds["clock-dnv"] == [
        ("dram_from_hand", "dram", "ring"),
        ("nvm_from_hand", "nvm", "ring"),
    ]
    assert [memory for _, memory, _ in kinds["cbm"]] == ["dram", "nvm", "nvm"]
    assert kinds["lb-clock"] == [("blocks_from_hand", "dram", "ring")]
    assert kinds["clock"] == [("from_hand", "dram", "ring")]
    assert {"ring", "ghosts"} <= {kind for _, _, kind in kinds["craw"]}


def test_the_command_writes_a_page_and_says_what_it_shows(
    clockhand: Clockhand, tmp_path: Path
) -> None:
    (tmp_path / "t.trace").write_text(os_course(scattered_pages(1200, 60)))
    command = ("watch", "t.trace", "--buffer", "clock-dnv:total=12,dram_share=0.5,fab:total=12")
    run = clockhand(*command, "--ssd", DRIVE, "--out", "p.html")
    assert run.code == 0 and run.out == b"", run.err
    assert "the first 1,000 requests are shown; --limit N takes others" in run.err
    assert "clock-dnv:total=12,dram_share=0.5: " in run.err and "fab:total=12: " in run.err
    assert "p.html plays the 1,000 steps" in run.err
    page = (tmp_path / "p.html").read_text()
    assert "http://" not in page.replace("http://www.w3.org/2000/svg", "")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("", "give --policy NAME with --frames N, or --buffer"),
        ("--policy lru --frames 3 --buffer fab:total=3", "page policies or write buffers"),
        ("--policy lru", "add --frames 8"),
        ("--policy lru --frames 3 --ssd dnv-textbook", "--ssd means nothing with --policy"),
        ("--buffer fab:total=3 --frames 3", "--frames means nothing with --buffer"),
        ("--buffer fab:total=3 --page-size 8KiB", "--page-size means nothing with --buffer"),
        ("--buffer fab", "fab has no size"),
        ("--buffer nosuch:total=3", "nosuch"),
        ("--buffer fab:total=3,cbm:total=3,lru:total=3", "names 3 write buffers"),
        ("--buffer fab:total=2000", "has 2000 pages, and at most 1024 can be looked at"),
        ("--buffer fab:total=3 --ssd dnv-textbook,femu", "one --ssd are watched at a time"),
        ("--buffer fab:total=3 --map some", "--map"),
    ],
)
def test_what_cannot_be_watched_is_refused(
    clockhand: Clockhand, tmp_path: Path, arguments: str, words: str
) -> None:
    (tmp_path / "t.trace").write_text("00000000 R\n00001000 W\n")
    run = clockhand("watch", "t.trace", *arguments.split(), "--out", "p.html")
    assert run.code == 2
    assert_one_sentence(run)
    assert words in run.err
    assert not (tmp_path / "p.html").exists()


def test_more_than_can_be_looked_at_is_refused() -> None:
    with pytest.raises(UsageError, match="too many to look at; give limit or a smaller total"):
        watch_buffers(mixed(3000), buffers="fab:total=1000", ssd=DRIVE.replace("1MiB", "8MiB"))


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("players")
    both = "clock-dnv:total=8,dram_share=0.5,bplru:total=8"
    watch_buffers(mixed(300), buffers=both, ssd=DRIVE).write_report(folder / "two.html")
    hostile = Trace.from_arrays(["R", "W"], [1 << 30, 0], name=HOSTILE)
    watch_buffers(hostile, buffers="craw:total=1").write_report(folder / "one.html")
    return folder


def test_keys_move_through_the_steps(browser: Any, pages: Path) -> None:  # noqa: F811
    from selenium.webdriver.common.keys import Keys

    opened(browser, pages / "two.html")
    assert pressed(browser, "").startswith("Request 1, a ")
    assert pressed(browser, Keys.ARROW_RIGHT).startswith("Request 2, ")
    assert pressed(browser, Keys.ARROW_LEFT).startswith("Request 1, ")
    assert "goes to flash as one batch" in pressed(browser, "w")
    assert "to NVM" in pressed(browser, "n")
    assert "the drive erases" in pressed(browser, "e")
    assert pressed(browser, Keys.END).startswith("Request 300, ")
    assert "miss" in pressed(browser, "F")
    assert pressed(browser, Keys.HOME).startswith("Request 1, ")
    assert not browser.get_log("browser")


def test_the_last_step_has_the_counts_of_the_whole(browser: Any, pages: Path) -> None:  # noqa: F811
    from selenium.webdriver.common.keys import Keys

    opened(browser, pages / "two.html")
    pressed(browser, Keys.END)
    shown = browser.execute_script(
        "return [...document.querySelectorAll('.course')].map((course) => Object.fromEntries("
        "[...course.querySelectorAll('dl:first-of-type > div')].map((one) =>"
        " [one.querySelector('dt').textContent, one.querySelector('dd').textContent])))"
    )
    names = {
        "read hits": "read_hits",
        "write hits": "write_hits",
        "pages to flash": "host_writes",
        "batches": "batches",
        "NVM writes": "nvm_writes",
        "flash programs": "flash_programs",
        "erases": "erases",
        "dirty now": "residual_dirty",
    }
    both = "clock-dnv:total=8,dram_share=0.5,bplru:total=8"
    rows = run_ssd(mixed(300), buffers=both, ssds=DRIVE).rows.to_dicts()
    for course, row in zip(shown, rows, strict=True):
        assert course == {name: f"{row[names[name]]:,}" for name in course}
    assert [len(course) for course in shown] == [8, 7]


def test_a_player_fits_a_phone_and_takes_any_name(browser: Any, pages: Path) -> None:  # noqa: F811
    for name in ("one", "two"):
        opened(browser, pages / f"{name}.html", width=390)
        wide = browser.execute_script("return document.documentElement.scrollWidth")
        assert wide <= 390
        assert browser.title != "taken"
        assert not browser.get_log("browser")


def test_large_addresses_are_told_by_block_and_place(browser: Any, pages: Path) -> None:  # noqa: F811
    opened(browser, pages / "one.html")
    assert "a read of page 1.0." in pressed(browser, "")
    titles = browser.execute_script(
        "return [...document.querySelectorAll('#courses .tile')].map((one) => one.title)"
    )
    assert titles and titles[0].startswith("page 1.0, 0x40000000 on the drive")


def test_play_goes_on_from_the_step_that_is_shown(browser: Any, pages: Path) -> None:  # noqa: F811
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.ui import WebDriverWait

    opened(browser, pages / "two.html")
    pressed(browser, Keys.END)
    pressed(browser, Keys.ARROW_LEFT)
    button = browser.find_element(By.ID, "play")
    button.click()
    assert browser.find_element(By.ID, "count").text in ("299 of 300", "300 of 300")
    WebDriverWait(browser, 20).until(lambda _: button.get_attribute("aria-pressed") == "false")
    assert browser.find_element(By.ID, "count").text == "300 of 300"
