"""Which policy for a program, a device and a memory size, and how far the answer can be trusted."""

import html
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import polars as pl

from clockhand import _engine
from clockhand.report.canvas import Spec
from clockhand.report.words import percent
from clockhand.studies.pages.run import SCHEMA
from clockhand.study.calls import READING, in_python
from clockhand.study.drawing import check_drawing
from clockhand.study.errors import UsageError, option
from clockhand.study.limits import MAXIMUM_FRAMES, MAXIMUM_JOBS, check_range
from clockhand.study.options import joined
from clockhand.study.phrases import all_of, one_of
from clockhand.study.policies import BASELINE, BOUND, FEASIBLE, OPTIMUM
from clockhand.study.progress import Watch, Watching, watched
from clockhand.study.selections import expanded
from clockhand.traces import Trace, reading_notes, sources

if TYPE_CHECKING:
    import altair as alt

ASKED = "as asked"
HALF_MEMORY = "half the memory"
DOUBLE_MEMORY = "double the memory"
HALF_RATIO = "half the write/read ratio"
DOUBLE_RATIO = "double the write/read ratio"

STANDARD_INPUT = "-"

COST_RATIO = "c"
"""The parameter whose default is the device's write/read ratio."""

OWN_COST_RATIO = "write_read_ratio"
"""The same of a policy in Python."""

PURPOSES = ("simulation", "pager")
SITUATION_SCHEMA = {
    "trace": pl.String,
    "device": pl.String,
    "page_bytes": pl.UInt64,
    "situation": pl.String,
    "frames": pl.UInt64,
    "memory_share": pl.Float64,
    "write_read_ratio": pl.Float64,
    "recommended": pl.String,
    "recommended_io_time_us": pl.Float64,
    "best": pl.String,
    "best_io_time_us": pl.Float64,
    "clock_io_time_us": pl.Float64,
    "bound_io_time_us": pl.Float64,
    "answer": pl.String,
}
"""Names, order and types of the columns of :attr:`Recommendation.situations`."""

Times = dict[str, float]


@dataclass(frozen=True, repr=False)
class Recommendation:
    """The answer, and what it rests on.

    Attributes:
        policy: The recommended policy.

        sentences: The choice and by how much; how far the bound is; how robust it is; which
            policy loses least where it loses most, if it is another one; and, where the trace can
            be read again, how the choice of its first half does on the second.

        situations: One row for the question as asked and for each of its variations, with the
            columns of :data:`SITUATION_SCHEMA`: what the recommended policy and the best one need
            there. The first row's ``answer`` has the sentences.

        rows: The result rows at the memory size asked for, with the columns of ``simulate``.

        warnings: What the reader passed over or assumed, one sentence each.
    """

    policy: str
    sentences: tuple[str, ...]
    situations: pl.DataFrame
    rows: pl.DataFrame
    warnings: list[str]

    def specification(self) -> Spec:
        """Return the I/O times of all policies at the memory size asked for, in Vega-Lite."""
        from clockhand.studies.pages.charts import recommendation_chart

        return recommendation_chart(self.rows, self.policy)

    def chart(self) -> "alt.LayerChart":
        """Return the I/O times of all policies at the memory size asked for, as Altair's chart."""
        check_drawing()
        from clockhand.report.canvas import as_chart

        return as_chart(self.specification())

    def __str__(self) -> str:
        """Return what the command says first."""
        return "\n".join(self.sentences)

    def __repr__(self) -> str:
        return f"Recommendation: {self.sentences[0]}"

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the sentences, the figure and the situations."""
        from clockhand.report.notebook import shown

        sentences = "".join(f"<p>{html.escape(sentence)}</p>" for sentence in self.sentences)
        situations = self.situations.select(
            "situation", "frames", "write_read_ratio", "best", "best_io_time_us",
            "recommended_io_time_us",
        )  # fmt: skip
        return sentences + shown(situations, {"recommendation": self.specification()})


@dataclass(frozen=True)
class _Situation:
    """The I/O time in µs of every contestant in one situation."""

    name: str
    frames: int
    ratio: float
    times_us: Times

    def best(self, candidates: Sequence[str], favourite: str | None = None) -> str:
        """The candidate with the least I/O time; of equals the favourite, else the first."""
        return min(candidates, key=lambda name: (self.times_us[name], name != favourite))

    def over_best(self, policy: str, candidates: Sequence[str]) -> float:
        """How many times the least I/O time a policy needs."""
        best_us = self.times_us[self.best(candidates)]
        return self.times_us[policy] / best_us if best_us else 1.0


@in_python(*READING)
def recommend(
    trace: Trace | str | os.PathLike[str],
    *,
    device: str | os.PathLike[str] = "slc-nand",
    frames: int | str | None = None,
    memory: str | float | None = None,
    page_size: int | str = 4096,
    purpose: str = "simulation",
    policies: str | type | Sequence[str | type] = (),
    jobs: int | None = None,
    watch: Watching = None,
    **reading: Any,
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

        jobs: Threads, from 1 to 1024; all cores if not given.

        watch: Called now and then with the progress; a bar is shown if not given, and nothing with
            ``False``.

        reading: How a trace that is given as a path is read, and which of its requests are wanted,
            as :class:`clockhand.traces.Reading` says.

    Raises:
        UsageError: something is unknown or out of range, or there is not exactly one memory size.
        ClockhandError: the trace cannot be read.
    """
    if purpose not in PURPOSES:
        raise UsageError(option("for") + f" {purpose!r} is unknown", f"give {one_of(PURPOSES)}")
    if jobs is not None:
        check_range("jobs", jobs, 1, MAXIMUM_JOBS)
    more = _more(policies, purpose)
    question = _Question(
        frames=None if frames is None else str(frames),
        memory=joined(memory),
        page_bytes=_engine.parse_page_bytes(str(page_size)),
        device=os.fspath(device),
        jobs=jobs,
        more=tuple(more),
    )
    question.plan()
    with watched(watch) as on_progress:
        candidates = [*_candidates(purpose), *more]
        return question.answer(
            sources(trace, watch=on_progress, **reading)[0], candidates, on_progress
        )


def _more(policies: str | type | Sequence[str | type], purpose: str) -> list[str]:
    """Return the policies to choose from beside the catalog's own, with their defaults.

    ``all`` and patterns stand for those of the catalog that can be recommended.

    Raises:
        UsageError: one is unknown, a bound, must know the future, or cannot drive real memory.
    """
    can_be = _candidates(purpose)
    more = [policy for policy in expanded("policy", policies, can_be) if policy not in can_be]
    _check_more(more, purpose)
    return list(dict.fromkeys(more))


def _check_more(more: Sequence[str], purpose: str) -> None:
    """Refuse what cannot be recommended.

    Raises:
        UsageError: one is unknown, a bound, must know the future, or cannot drive real memory.
    """
    wanted = ("bit-driven",) if purpose == "pager" else ("bit-driven", "access-driven")
    for policy in more:
        _engine.policy_page(policy)
        name = _engine.policy_name(policy)
        kinds = {entry["name"]: entry["kind"] for entry in _engine.policies()}
        if kinds.get(name, "bit-driven") not in wanted:
            raise UsageError(
                option("policy") + f" {policy} cannot be recommended", f"it is {kinds[name]}"
            )
        if name not in kinds and purpose == "pager":
            raise UsageError(
                option("policy") + f" {policy} is in Python, which pages no real memory"
            )


def _candidates(purpose: str) -> list[str]:
    """The policies to choose from: those that can run for real first, as equals go to the first."""
    kinds = {policy["name"]: policy["kind"] for policy in _engine.policies()}
    order = ["bit-driven"] if purpose == "pager" else ["bit-driven", "access-driven"]
    return [name for wanted in order for name, kind in kinds.items() if kind == wanted]


@dataclass(frozen=True)
class _Question:
    frames: str | None
    memory: str | None
    page_bytes: int
    device: str
    jobs: int | None
    more: tuple[str, ...]

    def plan(self, footprint_pages: int | None = None) -> dict[str, Any]:
        plan = _engine.plan_cells(
            {"policy": [BASELINE], "frames": self.frames, "memory": self.memory, **self._setting()},
            footprint_pages=footprint_pages,
        )
        if len(plan["cells"]) != 1:
            raise UsageError("a recommendation is for one memory size", "give one")
        return plan

    def _setting(self) -> dict[str, Any]:
        return {"page_size": str(self.page_bytes), "device": self.device}

    def _wanted(self, policies: Iterable[str]) -> tuple[list[str], list[str], list[int], bool]:
        return list(policies), [self.device], [self.page_bytes], False

    def answer(
        self, source: _engine.TraceSource, candidates: Sequence[str], watch: Watch | None
    ) -> Recommendation:
        plan = self.plan()
        ratio = Fraction(plan["device"]["write_read_ratio"])
        names = [*(policy["name"] for policy in _engine.policies()), *self.more]
        scaled = {
            factor: _with_cost_ratio(names, max(Fraction(1), ratio * factor))
            for factor in (Fraction(1, 2), Fraction(2))
        }
        contestants = dict.fromkeys([*names, *scaled[Fraction(1, 2)].values()])
        contestants |= dict.fromkeys(scaled[Fraction(2)].values())
        prepared = _engine.PreparedTrace.read(source, self._wanted(contestants), watch)
        [facts] = prepared.traces
        asked = self.plan(facts["footprint_pages"])["cells"][0]["frames"]
        half, double = max(1, asked // 2), min(2 * asked, MAXIMUM_FRAMES)
        sizes = {ASKED: asked, HALF_MEMORY: half, DOUBLE_MEMORY: double}
        cells = [(name, sizes[ASKED]) for name in contestants]
        cells += [(name, sizes[size]) for size in (HALF_MEMORY, DOUBLE_MEMORY) for name in names]
        rows = self._run(prepared, cells, watch)
        situations = [
            _Situation(
                size,
                frames,
                float(ratio),
                {name: rows[name, frames]["io_time_us"] for name in names},
            )
            for size, frames in sizes.items()
        ]
        for name, factor in ((HALF_RATIO, Fraction(1, 2)), (DOUBLE_RATIO, Fraction(2))):
            chosen = [rows[scaled[factor][policy], asked] for policy in names]
            times_us = dict(zip(names, self._priced(chosen, factor), strict=True))
            situations.append(_Situation(name, asked, float(ratio * factor), times_us))
        shown = pl.DataFrame([rows[name, asked] for name in names], schema=SCHEMA)
        warnings = [f"{source.name}: {note}" for note in reading_notes(facts)]
        halves = self._halves(source, facts["requests"], asked, candidates, watch)
        return _answered(self, situations, candidates, shown, warnings, halves)

    def _halves(
        self,
        source: _engine.TraceSource,
        requests: int,
        frames: int,
        candidates: Sequence[str],
        watch: Watch | None,
    ) -> tuple[_Situation, _Situation] | None:
        """Every candidate on the first and on the second half of the requests.

        None of standard input, which cannot be read again, and of a single request.
        """
        if source.name == STANDARD_INPUT or requests < 2:
            return None
        first = requests // 2

        def of_part(name: str, part: _engine.TraceSource) -> _Situation:
            prepared = _engine.PreparedTrace.read(part, self._wanted(candidates), watch)
            rows = self._run(prepared, [(policy, frames) for policy in candidates], watch)
            times_us = {policy: rows[policy, frames]["io_time_us"] for policy in candidates}
            return _Situation(name, frames, 0.0, times_us)

        return (
            of_part("first half", source.part({"limit": first})),
            of_part("second half", source.part({"skip": first, "limit": requests - first})),
        )

    def _priced(self, rows: Sequence[dict[str, Any]], factor: Fraction) -> list[float]:
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
        prepared: _engine.PreparedTrace,
        cells: Iterable[tuple[str, int]],
        watch: Watch | None,
    ) -> dict[tuple[str, int], dict[str, Any]]:
        different = list(dict.fromkeys(cells))
        rows: dict[tuple[str, int], dict[str, Any]] = {}

        def keep(finished: list[tuple[int, dict[str, Any]]]) -> None:
            rows.update((different[position], row) for position, row in finished)

        prepared.simulate(
            different,
            self._setting(),
            jobs=self.jobs,
            on_rows=keep,
            watch=watch,
        )
        return rows


def _with_cost_ratio(names: Iterable[str], ratio: Fraction) -> dict[str, str]:
    """Each policy as it would be by default on a device with another write/read ratio."""
    cost_ratios = {
        policy["name"]: parameter["name"]
        for policy in (*_engine.policies(), *_engine.own_policies())
        for parameter in policy["parameters"]
        if parameter["name"] in (COST_RATIO, OWN_COST_RATIO)
    }

    def scaled(policy: str) -> str:
        name = _engine.policy_name(policy)
        parameter = cost_ratios.get(name)
        given = policy[len(name) + 1 :]
        if parameter is None or any(part.startswith(f"{parameter}=") for part in given.split(",")):
            return policy
        return f"{name}:{parameter}={ratio}{',' if given else ''}{given}"

    return {name: scaled(name) for name in names}


def _answered(
    question: _Question,
    situations: Sequence[_Situation],
    candidates: Sequence[str],
    rows: pl.DataFrame,
    warnings: list[str],
    halves: tuple[_Situation, _Situation] | None,
) -> Recommendation:
    asked = situations[0]
    policy = _most_robust(situations, candidates)
    place = rows.row(0, named=True)
    sentences = (
        _choice(asked, policy, candidates, place),
        _distance(asked, policy),
        _robustness(situations[1:], policy, candidates),
        *_least_regret(situations, policy, candidates),
        *([_regret(*halves, candidates)] if halves else []),
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
    return Recommendation(
        policy, sentences, pl.DataFrame(table, schema=SITUATION_SCHEMA), rows, warnings
    )


def _most_robust(situations: Sequence[_Situation], candidates: Sequence[str]) -> str:
    """The policy that is best as asked; of equals, the one that loses least in its worst case."""
    asked = situations[0]
    least_us = asked.times_us[asked.best(candidates)]
    equal = [name for name in candidates if asked.times_us[name] == least_us]
    return min(
        equal,
        key=lambda name: max(situation.over_best(name, candidates) for situation in situations),
    )


def _choice(
    asked: _Situation, policy: str, candidates: Sequence[str], place: dict[str, Any]
) -> str:
    where = (
        f"on {place['trace']} with {asked.frames:,} frames ({percent(place['memory_share'])} of "
        f"the footprint) on {place['device_resolved']}"
    )
    time_us = asked.times_us[policy]
    others = [name for name in candidates if asked.times_us[name] > time_us]
    equal = [name for name in candidates if asked.times_us[name] == time_us and name != policy]
    footprint_pages = place["footprint_pages"]
    if asked.frames >= footprint_pages:
        return (
            f"Everything fits: memory holds all {footprint_pages:,} pages {where}, nothing is "
            f"replaced, and all {len(candidates)} policies need as much I/O time; {policy} will do."
        )
    if not others:
        return f"All {len(candidates)} policies need the same I/O time {where}; {policy} will do."
    second = min(others, key=asked.times_us.__getitem__)
    also = f", as {all_of(equal)} do{'es' if len(equal) == 1 else ''}" if equal else ""
    against = [f"{_less(time_us, asked.times_us[second])} than {second}, the next"]
    if policy != BASELINE and second != BASELINE and BASELINE not in equal:
        against.insert(0, f"{_less(time_us, asked.times_us[BASELINE])} than {BASELINE}")
    return (
        f"Take {policy}: {where} it needs the least I/O time of {len(candidates)} policies{also}, "
        f"{_seconds(time_us)}, {' and '.join(against)}."
    )


def _distance(asked: _Situation, policy: str) -> str:
    time_us, bound_us = asked.times_us[policy], asked.times_us[BOUND]
    if bound_us == 0:
        return "The lower bound is no I/O at all."
    if time_us == bound_us:
        return f"That is the lower bound, {_seconds(bound_us)}: no policy can need less."
    return (
        f"The lower bound, which no policy can pass, is {_seconds(bound_us)}: {policy} needs "
        f"{time_us / bound_us:.2f} times as much, {OPTIMUM}, which knows the future and misses "
        f"least, {asked.times_us[OPTIMUM] / bound_us:.2f} times. A schedule that knows the future "
        f"and what a write costs needs {_seconds(asked.times_us[FEASIBLE])}, "
        f"{asked.times_us[FEASIBLE] / bound_us:.3f} times: the optimum is in between."
    )


def _robustness(situations: Sequence[_Situation], policy: str, candidates: Sequence[str]) -> str:
    stays, loses = [], []
    for situation in situations:
        best = situation.best(candidates, policy)
        if best == policy:
            stays.append(f"with {situation.name}")
        else:
            loses.append(
                f"with {situation.name} {best} is best and {policy} needs "
                f"{percent(situation.over_best(policy, candidates) - 1)} more"
            )
    if not loses:
        return f"It stays the best {all_of(stays)}."
    if not stays:
        return f"It is best only there: {all_of(loses)}."
    return f"It stays the best {all_of(stays)}; {all_of(loses)}."


def _least_regret(
    situations: Sequence[_Situation], policy: str, candidates: Sequence[str]
) -> list[str]:
    """Name the policy that loses least where it loses most, if it is another one."""

    def worst(name: str) -> float:
        return max(situation.over_best(name, candidates) for situation in situations)

    safest = min(candidates, key=worst)
    if worst(policy) - worst(safest) < NOTICEABLE:
        return []
    return [
        f"If you are not sure of these numbers, take {safest}: it needs at most "
        f"{percent(worst(safest) - 1)} more than the best in all {len(situations)} situations, "
        f"{policy} up to {percent(worst(policy) - 1)}."
    ]


NOTICEABLE = 0.01
"""By how much the worst case has to be better for another policy to be named."""


def _regret(first: _Situation, second: _Situation, candidates: Sequence[str]) -> str:
    """Result of the first half's choice on the second half: the cost of trusting a trace."""
    chosen = first.best(candidates)
    best = second.best(candidates, chosen)
    if best == chosen:
        return (
            f"Chosen by the first half of the requests alone, {chosen} is the best on the second."
        )
    more = percent(second.over_best(chosen, candidates) - 1)
    return (
        f"Chosen by the first half of the requests, it would be {chosen}, which on the second "
        f"needs {more} more than {best}, the best there."
    )


def _less(time_us: float, other_us: float) -> str:
    return f"{percent(1 - time_us / other_us)} less" if time_us < other_us else "as much"


def _seconds(time_us: float) -> str:
    return f"{time_us / 1e6:,.4g} s"
