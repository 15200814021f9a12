"""Recommendations: the answer is what single simulations say."""

import html
import json
import random
from pathlib import Path

import polars as pl
import pytest

import clockhand
from clockhand import Trace, UsageError, recommend
from clockhand.report.words import percent
from conftest import Clockhand, assert_one_sentence, os_course, scattered_pages


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A trace on which policies differ: a hot set, part of it written, and a scan."""
    hot = scattered_pages(1500, 24)
    path = tmp_path / "program.trace"
    path.write_text(os_course(page for pair in zip(hot, range(1500), strict=True) for page in pair))
    return path


def times_us(program: Path, frames: int, policies: list[str], device: str) -> dict[str, float]:
    rows = clockhand.simulate(program, policies=policies, frames=frames, device=device).rows
    return dict(rows.select("policy", "io_time_us").iter_rows())


def candidates(*kinds: str) -> list[str]:
    return clockhand.policies().filter(pl.col("kind").is_in(kinds))["name"].to_list()


def test_the_best_policy_and_the_bound_are_those_of_simulate(program: Path) -> None:
    answer = recommend(program, frames=16, device="mlc-nand")
    times = times_us(program, 16, [*candidates("bit-driven", "access-driven"), "bound"], "mlc-nand")
    bound_us = times.pop("bound")
    asked = answer.situations.row(0, named=True)
    assert answer.policy == asked["recommended"] == asked["best"]
    assert asked["recommended_io_time_us"] == times[answer.policy] == min(times.values())
    assert asked["bound_io_time_us"] == bound_us
    assert asked["clock_io_time_us"] == times["clock"]


@pytest.mark.parametrize(("position", "frames"), [(1, 8), (2, 32)])
def test_half_and_double_memory_are_simulated(program: Path, position: int, frames: int) -> None:
    row = recommend(program, frames=16).situations.row(position, named=True)
    times = times_us(program, frames, candidates("bit-driven", "access-driven"), "slc-nand")
    assert row["frames"] == frames
    assert row["best_io_time_us"] == min(times.values())
    assert row["recommended_io_time_us"] == times[row["recommended"]]


@pytest.mark.parametrize(("position", "ratio"), [(3, 4), (4, 16)])
def test_another_ratio_prices_writes_and_reaches_the_policies_that_know_it(
    program: Path, tmp_path: Path, position: int, ratio: int
) -> None:
    device = tmp_path / "ratio.toml"
    device.write_text(
        'summary = "x"\nsource = "y"\ncharged = "per-page"\n[read]\ntime_us = 50\n[write]\n'
        f"time_us = {50 * ratio}\n"
    )
    situations = recommend(program, frames=16).situations
    row = situations.row(position, named=True)
    names = candidates("bit-driven", "access-driven")
    times = times_us(program, 16, [*names, "bound"], str(device))
    # Below the bound of such a device, and no less than what its own ratio's bound implies.
    bound_us = times.pop("bound")
    implied_us = min(1, ratio / 8) * situations["bound_io_time_us"][0]
    assert implied_us <= row["bound_io_time_us"] <= bound_us * (1 + 1e-9)
    assert row["write_read_ratio"] == ratio
    assert row["best_io_time_us"] == pytest.approx(min(times.values()))
    assert row["recommended_io_time_us"] == pytest.approx(times[row["recommended"]])


def test_the_bound_grows_with_what_writes_cost(tmp_path: Path) -> None:
    """Fewest reads and fewest writes cannot be had at once here; together they bound too little."""
    numbers = random.Random(1)
    lines = ["op,address,size"]
    for request in range(6_000):
        page = min(numbers.randrange(1_000) for _ in range(6))
        lines.append(f"{'R' if page % 4 else 'W'},{page * 4096},512")
        if request % 1_000 == 0:
            lines += [f"R,{(1_000 + scanned) * 4096},4096" for scanned in range(400)]
    (tmp_path / "log.csv").write_text("\n".join(lines) + "\n")
    answer = recommend(tmp_path / "log.csv", memory="10%", device="mlc-nand")
    by_ratio = answer.situations.filter(pl.col("frames") == pl.col("frames").first()).sort(
        "write_read_ratio"
    )
    assert by_ratio.height == 3
    half, asked, double = by_ratio["bound_io_time_us"]
    assert asked / 2 <= half < asked < double <= 2 * asked


def test_for_a_pager_only_bit_driven_policies_are_taken(program: Path) -> None:
    answer = recommend(program, frames=16, purpose="pager")
    taken = {*answer.situations["best"], *answer.situations["recommended"]}
    assert taken <= set(candidates("bit-driven"))


def test_with_memory_for_everything_all_policies_are_equal(program: Path) -> None:
    answer = recommend(program, memory="100%")
    assert answer.sentences[0].startswith("Everything fits: memory holds all ")
    assert "lower bound" in answer.sentences[1]


def test_the_choice_of_the_first_half_is_tried_on_the_second(program: Path) -> None:
    def best_of(part: clockhand.Trace) -> tuple[str, dict[str, float]]:
        names = candidates("bit-driven") + candidates("access-driven")
        rows = clockhand.simulate(part, policies=names, frames=16).rows
        times = dict(rows.select("policy", "io_time_us").iter_rows())
        return min(names, key=times.__getitem__), times

    requests = clockhand.run_simulation(program, policies="lru", frames=1).facts["traces"][0][
        "requests"
    ]
    half = requests // 2
    chosen, _ = best_of(clockhand.Trace(program, limit=half))
    best, times = best_of(clockhand.Trace(program, skip=half))
    sentence = recommend(program, frames=16).sentences[-1]
    assert chosen in sentence
    if times[chosen] == times[best]:
        assert "is the best on the second" in sentence
    else:
        more = 100 * (times[chosen] / times[best] - 1)
        assert f"{more:.1f}" in sentence and f"more than {best}" in sentence


def test_a_trace_that_cannot_be_read_twice_is_not_split(
    program: Path, clockhand: Clockhand
) -> None:
    run = clockhand("recommend", "-", "--frames", "16", input=program.read_bytes())
    assert run.code == 0, run.err
    assert "first half" not in run.out.decode()


def test_the_command_names_every_policy(program: Path, clockhand: Clockhand) -> None:
    shown = clockhand("recommend", program, "--frames", "16").out.decode()
    assert " others from " in shown
    assert all(name in shown for name in candidates("bit-driven", "access-driven"))


def test_the_command_answers_in_sentences_and_draws_a_figure(
    program: Path, tmp_path: Path, clockhand: Clockhand
) -> None:
    run = clockhand("recommend", program, "--memory", "20%", "--figure", "f.svg")
    assert run.code == 0, run.err
    answer = run.out.decode().split("\n\n")[0]
    assert answer.startswith("Take ") and "The lower bound" in answer and "best" in answer
    assert (tmp_path / "f.svg").read_text().startswith("<svg")
    rows = json.loads(clockhand("recommend", program, "--memory", "20%", "--format", "json").out)
    assert [row["situation"] for row in rows] == [
        "as asked",
        "half the memory",
        "double the memory",
        "half the write/read ratio",
        "double the write/read ratio",
    ]
    assert rows[0]["answer"].startswith("Take ") and rows[1]["answer"] is None


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("--memory 5%,10%", "for one memory size"),
        ("--memory 1%..9%", "for one memory size"),
        ("--memory 5% --frames 3", "give one of them"),
        ("", "give one of them"),
        ("--memory 5% --for kernel", "kernel"),
        ("--memory 5% --device flopy", "flopy"),
        ("--memory 5% --jobs 0", "--jobs 0"),
    ],
)
def test_a_wrong_question_is_refused(
    program: Path, clockhand: Clockhand, arguments: str, words: str
) -> None:
    run = clockhand("recommend", program, *arguments.split())
    assert run.code == 2
    assert_one_sentence(run)
    assert words in run.err


def test_an_unknown_purpose_is_refused(program: Path) -> None:
    with pytest.raises(UsageError, match="simulation or pager"):
        recommend(program, frames=2, purpose="kernel")


def test_a_part_of_a_trace_is_recommended_for_like_a_trace(
    program: Path, clockhand: Clockhand
) -> None:
    part = ["--skip", "7", "--limit", "900", "--trace-format", "os-course"]
    run = clockhand("recommend", program, "--frames", "16", *part, "--format", "json")
    assert run.code == 0, run.err
    of_part = recommend(Trace(program, skip=7, limit=900), frames=16)
    assert json.loads(run.out) == of_part.situations.to_dicts()
    assert of_part.situations["memory_share"][0] != pytest.approx(
        recommend(program, frames=16).situations["memory_share"][0]
    )


# Twice as much memory is asked about as well, and was no number of frames: a traceback.
def test_more_frames_than_half_of_the_largest_number_are_recommended_for(program: Path) -> None:
    answer = recommend(program, frames=2**32 - 2)
    assert answer.policy
    assert answer.situations["frames"].max() == 2**32 - 2


def test_another_policy_is_named_if_it_loses_less_where_it_loses_most(program: Path) -> None:
    answer = recommend(program, frames=16)
    candidates_times = {
        row["situation"]: row["recommended_io_time_us"] / row["best_io_time_us"]
        for row in answer.situations.to_dicts()
    }
    worst = max(candidates_times.values())
    [said] = [it for it in answer.sentences if it.startswith("If you are not sure")]
    assert said.endswith(f"{answer.policy} up to {percent(worst - 1)}.")
    safest = said.partition("take ")[2].partition(":")[0]
    assert safest != answer.policy
    alone = clockhand.simulate(program, policies=safest, frames=16).rows["io_time_us"][0]
    asked = answer.situations.row(0, named=True)
    assert alone / asked["best_io_time_us"] < worst


def test_a_recommendation_has_a_report_that_its_sentences_lead(
    program: Path, tmp_path: Path, clockhand: Clockhand
) -> None:
    run = clockhand("recommend", program, "--frames", "16", "--report", "r.html")
    assert run.code == 0, run.err
    assert "r.html: the report" in run.err
    page = html.unescape((tmp_path / "r.html").read_text()).replace("\u00a0", " ")
    answer = recommend(program, frames=16)
    assert f"<h1>Take {answer.policy} with 16 frames on slc-nand</h1>" in page
    assert all(" ".join(it.split()) in page for it in answer.sentences)
    assert all(name in page for name in answer.situations["situation"])
    assert "<span>--report</span> <span>r.html</span>" in page, "how it was made"
    assert set(answer.cells["frames"]) == {8, 16, 32}
    assert {"recommendation", "io_time"} <= set(answer.charts())
    assert str(answer) == "\n".join(answer.sentences)
