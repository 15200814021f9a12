"""Every step of one policy or two on the same references, as the simulator takes them."""

from collections.abc import Sequence
from typing import cast

from clockhand import _engine
from clockhand.studies.watch.playing import check_side_by_side, first_requests
from clockhand.studies.watch.result import Course, Watched
from clockhand.study.calls import READING, SHOWN, arguments, in_python
from clockhand.study.facts import Facts, equivalent_command
from clockhand.study.limits import check_range
from clockhand.study.options import names_of, options_of
from clockhand.study.progress import watched
from clockhand.study.records import Record
from clockhand.study.run import parted, reading_warnings, run_facts, trace_facts
from clockhand.study.selections import expanded
from clockhand.traces import OneTrace, reading_options, sources

MAXIMUM_FRAMES = 1024

OPTIONS = ("page_size", "device", "bits", "write_miss", "seed")
"""Those of ``simulate`` that are of one policy, too."""


@in_python(*arguments("pages", OPTIONS), *SHOWN, *READING)
def watch_policies(
    trace: OneTrace,
    *,
    policies: str | Sequence[str],
    frames: int,
    **options: object,
) -> Watched:
    """Watch one policy, or two on the same references, step by step.

    Args:
        trace: The trace, as :class:`Trace` or as a path. Of a path the first 1,000 requests are
            taken if ``limit`` is not given.

        policies: One or two, with parameters, such as ``"craw:c=8"``.

        frames: Page frames, from 1 to 1024; times the references at most 2,000,000.

        options: As ``simulate`` has them, and how the trace is read.

    Returns:
        The steps; :meth:`Watched.write_report` makes the page that plays them.

    Raises:
        UsageError: something is unknown, out of range or contradictory.
        ClockhandError: the trace cannot be read.
    """
    check_range("frames", frames, 1, MAXIMUM_FRAMES)
    given, running, reading = parted(options)
    settings = {name: options_of("pages")[name].checked(given.get(name)) for name in OPTIONS}
    policies = expanded("policy", policies, names_of("policies"))
    check_side_by_side("policy", "policies", policies)
    asked = {**settings, "policy": policies}
    seed = settings.pop("seed")
    page_bytes = _engine.parse_page_bytes(settings.pop("page_size"))
    with watched(running["watch"]) as on_progress:
        (source,) = sources(trace, watch=on_progress, **first_requests(trace, reading))
        result = _engine.watch_policies(source, asked, frames=frames, watch=on_progress)
    command = running["command"]
    if command is None:
        shown = {"frames": frames, "page_size": page_bytes, "seed": seed, **settings}
        command = equivalent_command(
            "watch", [source.name], {"policy": policies, **shown, **reading_options(reading)}
        )
    trace_read = result["trace"]
    return Watched(
        references=result["references"],
        pages=result["pages"],
        frames=frames,
        courses=[_course(course) for course in result["courses"]],
        facts=_facts(result, command, page_bytes, seed, {"frames": frames, **settings}),
        warnings=reading_warnings([trace_read]),
    )


def _course(course: Record) -> Course:
    counts = {key: course[key] for key in ("hits", "misses", "read_ios", "write_ios")}
    return Course(
        policy=course["policy"],
        policy_resolved=course["policy_resolved"],
        steps_json=course["steps"],
        **counts,
    )


def _facts(
    result: Record,
    command: str,
    page_bytes: int,
    seed: int,
    options: Record,
) -> Facts:
    policies = [
        {
            "name": course["policy"],
            "resolved": course["policy_resolved"],
            "summary": course["summary"],
            "paper": course["paper"],
        }
        for course in result["courses"]
    ]
    facts = run_facts(
        command=command,
        seed=seed,
        options=options,
        traces=[trace_facts(result["trace"], page_bytes)],
        devices=[result["device"]],
        policies=policies,
    )
    return cast(Facts, facts)
