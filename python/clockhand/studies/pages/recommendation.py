"""Which policy for a program, a device and a memory size, and how far the answer can be trusted."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import cast

import polars as pl

from clockhand import _engine
from clockhand.studies.pages.candidates import candidates_of, more_of, with_cost_ratio
from clockhand.studies.pages.recommendation_sentences import (
    Situation,
    choice,
    distance,
    least_regret,
    regret,
    robustness,
)
from clockhand.studies.pages.recommended import SITUATION_SCHEMA, Recommendation
from clockhand.study.calls import READING, RUN, in_python
from clockhand.study.columns import schema
from clockhand.study.errors import UsageError, option
from clockhand.study.facts import Facts, equivalent_command
from clockhand.study.limits import MAXIMUM_FRAMES
from clockhand.study.options import joined
from clockhand.study.phrases import one_of
from clockhand.study.policies import BASELINE, BOUND
from clockhand.study.progress import Watch, watched
from clockhand.study.records import Fields
from clockhand.study.run import check_jobs, parted, run_facts, trace_facts
from clockhand.traces import OneTrace, reading_notes, sources
from clockhand.traces.trace import STANDARD_INPUT

ASKED = "as asked"
HALF_MEMORY = "half the memory"
DOUBLE_MEMORY = "double the memory"
HALF_RATIO = "half the write/read ratio"
DOUBLE_RATIO = "double the write/read ratio"

PURPOSES = ("simulation", "pager")


@in_python(*RUN, *READING)
def recommend(
    trace: OneTrace,
    *,
    device: str | os.PathLike[str] = "slc-nand",
    frames: int | str | None = None,
    memory: str | float | None = None,
    page_size: int | str = 4096,
    purpose: str = "simulation",
    policies: str | type | Sequence[str | type] = (),
    **options: object,
) -> Recommendation:
    """Run the whole catalog and say which policy suits a program, a device and a memory size.

    Args:
        trace: The program's trace.

        device: Name with options, or a TOML file.

        frames: The memory size in page frames.

        memory: The memory size as a share of the footprint or in bytes. Give this or ``frames``.

        page_size: Bytes, a power of two, or text such as ``"4KiB"``.

        purpose: ``"pager"`` to choose only among policies that can drive real memory.

        policies: Policies to choose from besides, as ``simulate`` takes them: your own, or some of
            the catalog with other parameters.

        options: Those of the run, and how a path is read.

    Raises:
        UsageError: something is unknown or out of range, or there is not exactly one memory size.
        ClockhandError: the trace cannot be read.
    """
    if purpose not in PURPOSES:
        raise UsageError(option("for") + f" {purpose!r} is unknown", f"give {one_of(PURPOSES)}")
    _, running, reading = parted(options)
    check_jobs(running["jobs"])
    more = more_of(policies, purpose)
    question = _Question(
        frames=None if frames is None else str(frames),
        memory=joined(memory),
        page_bytes=_engine.parse_page_bytes(str(page_size)),
        device=os.fspath(device),
        jobs=running["jobs"],
        more=tuple(more),
        purpose=purpose,
        command=running["command"],
    )
    question.plan()
    with watched(running["watch"]) as on_progress:
        candidates = [*candidates_of(purpose), *more]
        return question.answer(
            sources(trace, watch=on_progress, **reading)[0], candidates, on_progress
        )


@dataclass(frozen=True)
class _Question:
    frames: str | None
    memory: str | None
    page_bytes: int
    device: str
    jobs: int | None
    more: tuple[str, ...]
    purpose: str
    command: str | None

    def plan(
        self, footprint_pages: int | None = None, policies: Sequence[str] = (BASELINE,)
    ) -> Fields:
        asked = {"policy": list(policies), "frames": self.frames, "memory": self.memory}
        plan = _engine.plan("pages", {**asked, **self._setting()}, footprint_pages=footprint_pages)
        if len(plan["cells"]) != len(policies):
            raise UsageError("a recommendation is for one memory size", "give one")
        return plan

    def _setting(self) -> Fields:
        return {"page_size": str(self.page_bytes), "device": self.device}

    def _read(
        self, source: _engine.TraceSource, policies: Iterable[str], watch: Watch | None
    ) -> _engine.HeldTrace:
        setting = {"policy": list(policies), **self._setting()}
        return _engine.HeldTraces().read(source.name, source, [setting], watch)

    def answer(
        self, source: _engine.TraceSource, candidates: Sequence[str], watch: Watch | None
    ) -> Recommendation:
        plan = self.plan()
        ratio = Fraction(plan["device"]["write_read_ratio"])
        names = [*(policy["name"] for policy in _engine.policies()), *self.more]
        scaled = {
            factor: with_cost_ratio(names, max(Fraction(1), ratio * factor))
            for factor in (Fraction(1, 2), Fraction(2))
        }
        contestants = dict.fromkeys([*names, *scaled[Fraction(1, 2)].values()])
        contestants |= dict.fromkeys(scaled[Fraction(2)].values())
        held = self._read(source, contestants, watch)
        facts = held.facts(self._setting())
        asked = self.plan(facts["footprint_pages"])["cells"][0]["key"]["frames"]
        half, double = max(1, asked // 2), min(2 * asked, MAXIMUM_FRAMES)
        sizes = {ASKED: asked, HALF_MEMORY: half, DOUBLE_MEMORY: double}
        rows = self._run(held, contestants, [asked], watch)
        others = [frames for frames in dict.fromkeys((half, double)) if frames != asked]
        rows |= self._run(held, names, others, watch) if others else {}
        situations = [
            Situation(
                size,
                frames,
                float(ratio),
                {name: rows[name, frames]["io_time_us"] for name in names},
            )
            for size, frames in sizes.items()
        ]
        for name, factor in ((HALF_RATIO, Fraction(1, 2)), (DOUBLE_RATIO, Fraction(2))):
            priced = [policy for policy in names if policy != BOUND]
            chosen = [rows[scaled[factor][policy], asked] for policy in priced]
            times_us = dict(zip(priced, self._priced(chosen, factor), strict=True))
            times_us[BOUND] = self._bound_us(rows[BOUND, asked], float(factor))
            situations.append(Situation(name, asked, float(ratio * factor), times_us))
        table = pl.DataFrame(
            [rows[name, frames] for frames in sorted({*sizes.values()}) for name in names],
            schema=schema("pages"),
        )
        warnings = [f"{source.name}: {note}" for note in reading_notes(facts)]
        halves = self._halves(source, facts["requests"], asked, candidates, watch)
        return _answered(
            self, situations, candidates, table, warnings, halves, self._facts(facts, table)
        )

    def _facts(self, trace: Fields, cells: pl.DataFrame) -> Facts:
        """Return how the rows were made."""
        names = cells["policy"].unique(maintain_order=True).to_list()
        plan = self.plan(trace["footprint_pages"], names)
        resolved = dict(cells.select("policy", "policy_resolved").iter_rows())
        given = {
            "device": self.device, "memory": self.memory, "frames": self.frames,
            "page_size": self.page_bytes, "for": self.purpose,
        }  # fmt: skip
        made = run_facts(
            command=self.command or equivalent_command("recommend", [trace["name"]], given),
            seed=0,
            options={"for": self.purpose, "jobs": self.jobs},
            traces=[trace_facts(trace, self.page_bytes)],
            devices=[plan["device"]],
            policies=[{**it, "resolved": resolved[it["name"]]} for it in plan["policies"]],
        )
        return cast(Facts, made)

    def _halves(
        self,
        source: _engine.TraceSource,
        requests: int,
        frames: int,
        candidates: Sequence[str],
        watch: Watch | None,
    ) -> tuple[Situation, Situation] | None:
        """Every candidate on the first and on the second half of the requests.

        None of standard input, which cannot be read again, and of a single request.
        """
        if source.name == STANDARD_INPUT or requests < 2:
            return None
        first = requests // 2

        def of_part(name: str, part: _engine.TraceSource) -> Situation:
            rows = self._run(self._read(part, candidates, watch), candidates, [frames], watch)
            times_us = {policy: rows[policy, frames]["io_time_us"] for policy in candidates}
            return Situation(name, frames, 0.0, times_us)

        return (
            of_part("first half", source.part({"limit": first})),
            of_part("second half", source.part({"skip": first, "limit": requests - first})),
        )

    def _bound_us(self, bound: Fields, factor: float) -> float:
        """The least I/O time in µs of any policy where writes cost ``factor`` times as much.

        The row bounds the time of reads, that of writes, and their sum, each by itself. The least
        sum with dearer or cheaper writes that respects all three is at a corner.
        """
        ios = [(bound["read_ios"], 0), (0, bound["write_ios"])]
        reads_us, writes_us = _engine.io_times_us(self.device, self.page_bytes, ios)
        sum_us: float = bound["io_time_us"]
        if factor < 1:
            by_sum_us = factor * sum_us + (1 - factor) * reads_us
        else:
            by_sum_us = sum_us + (factor - 1) * writes_us
        return max(reads_us + factor * writes_us, by_sum_us)

    def _priced(self, rows: Sequence[Fields], factor: Fraction) -> list[float]:
        """The I/O times in µs of rows on a device whose writes cost ``factor`` times as much.

        A write that costs n / d as much is n writes where everything is d times as many.
        """
        ios = [
            (row["read_ios"] * factor.denominator, row["write_ios"] * factor.numerator)
            for row in rows
        ]
        times_us = _engine.io_times_us(self.device, self.page_bytes, ios)
        return [time_us / factor.denominator for time_us in times_us]

    def _run(
        self,
        held: _engine.HeldTrace,
        policies: Iterable[str],
        frames: Iterable[int],
        watch: Watch | None,
    ) -> dict[tuple[str, int], Fields]:
        """The row of each policy at each memory size."""
        grid = {"policy": list(dict.fromkeys(policies)), "frames": ",".join(map(str, frames))}
        options = {**grid, **self._setting()}
        result = _engine.run("pages", [], options, jobs=self.jobs, watch=watch, held=held)
        return {(row["policy"], row["frames"]): row for row in result["rows"]}


def _answered(
    question: _Question,
    situations: Sequence[Situation],
    candidates: Sequence[str],
    cells: pl.DataFrame,
    warnings: list[str],
    halves: tuple[Situation, Situation] | None,
    facts: Facts,
) -> Recommendation:
    asked = situations[0]
    rows = cells.filter(pl.col("frames") == asked.frames)
    policy = _most_robust(situations, candidates)
    place = rows.row(0, named=True)
    sentences = (
        choice(asked, policy, candidates, place),
        distance(asked, policy),
        robustness(situations[1:], policy, candidates),
        *least_regret(situations, policy, candidates),
        *([regret(*halves, candidates)] if halves else []),
    )
    table = [
        {
            "trace": place["trace"],
            "device": question.device,
            "page_bytes": question.page_bytes,
            "situation": situation.name,
            "frames": situation.frames,
            "memory_share": situation.frames / place["footprint_pages"],
            "write_read_ratio": situation.ratio,
            "recommended": policy,
            "recommended_io_time_us": situation.times_us[policy],
            "best": situation.best(candidates, policy),
            "best_io_time_us": situation.times_us[situation.best(candidates)],
            "clock_io_time_us": situation.times_us[BASELINE],
            "bound_io_time_us": situation.times_us[BOUND],
            "answer": " ".join(sentences) if situation is asked else None,
        }
        for situation in situations
    ]
    shown = pl.DataFrame(table, schema=SITUATION_SCHEMA)
    return Recommendation(policy, sentences, shown, rows, warnings, cells, facts)


def _most_robust(situations: Sequence[Situation], candidates: Sequence[str]) -> str:
    """The policy that is best as asked; of equals, the one that loses least in its worst case."""
    asked = situations[0]
    least_us = asked.times_us[asked.best(candidates)]
    equal = [name for name in candidates if asked.times_us[name] == least_us]
    return min(
        equal,
        key=lambda name: max(situation.over_best(name, candidates) for situation in situations),
    )
