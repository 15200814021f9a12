"""Every step of one policy or two on the same references, as the simulator takes them."""

from collections.abc import Sequence
from functools import partial

from clockhand import _engine
from clockhand.studies.watch.playing import check_side_by_side, played
from clockhand.studies.watch.result import Course, Watched
from clockhand.study.calls import READING, SHOWN, arguments, in_python
from clockhand.study.limits import check_range
from clockhand.study.options import names_of, options_of
from clockhand.study.run import parted
from clockhand.study.selections import expanded
from clockhand.traces import OneTrace

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
    given, _, _ = parted(options)
    settings = {name: options_of("pages")[name].checked(given.get(name)) for name in OPTIONS}
    policies = expanded("policy", policies, names_of("policies"))
    check_side_by_side("policy", "policies", policies)
    asked = {"policy": policies, **settings}
    page_bytes, seed = _engine.parse_page_bytes(settings.pop("page_size")), settings.pop("seed")
    result, facts, warnings = played(
        trace,
        options,
        {"policy": policies, "frames": frames, "page_size": page_bytes, "seed": seed, **settings},
        partial(_engine.watch_policies, options=asked, frames=frames),
        lambda it: (page_bytes, {"devices": [it["device"]], "policies": it["courses"]}),
    )
    return Watched(
        references=result["references"],
        pages=result["pages"],
        frames=frames,
        courses=[Course(**course) for course in result["followed"]],
        facts=facts,
        warnings=warnings,
    )
