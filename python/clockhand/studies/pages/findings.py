"""The finding of a section in words: which policy needs the least I/O time, and by how much."""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from clockhand.report.overview import less_text
from clockhand.report.scales import ratio_text
from clockhand.report.words import size_share_text, time_text, unique
from clockhand.studies.pages.sections import Section, meaning
from clockhand.study.phrases import all_of
from clockhand.study.policies import BASELINE, reads_the_future

# Below one part in two thousand a difference would be printed as 0.0 %.
NOTICEABLE = 0.0005


@dataclass(frozen=True)
class Verdict:
    """A finding in numbers.

    Attributes:
        best: The policies that need the least I/O time.

        ratio: Their time over that of ``against``, the mean over all sizes.

        least: The least at one size.

        most: The most at one size.

        over_bound: Their time over that of the lower bound, if it is known.

        against: What they are compared with.
    """

    best: str
    ratio: float
    least: float
    most: float
    over_bound: float | None
    against: str


@dataclass(frozen=True)
class Finding:
    """``lead`` is one sentence that can stand alone; ``detail`` says over what it was computed.

    Where policies were compared, ``verdict`` has the numbers.
    """

    lead: str
    detail: str
    verdict: Verdict | None = None


def finding(section: Section) -> Finding:
    """Compare the policies of a section by their mean relative I/O time over its memory sizes.

    The mean is geometric, over the memory sizes that every compared policy was run at. Policies
    that know the future, and the lower bound, are left out.
    """
    times_us = _times_us(section)
    sizes = _shared_sizes(times_us)
    if not sizes:
        return Finding(
            f"No finding on {section.label}.",
            "There is no memory size at which every policy has an I/O time above zero.",
        )
    if section.baseline is not None and len(times_us) > 1:
        return _against_baseline(section, times_us, sizes)
    return _against_best(section, times_us, sizes)


def _times_us(section: Section) -> dict[str, dict[int, float]]:
    """Return the I/O time in µs by policy and memory size, of policies that can run."""
    times: dict[str, dict[int, float]] = {}
    for record in section.records:
        if reads_the_future(meaning(record)):
            continue
        by_size = times.setdefault(record["policy"], {})
        if record["io_time_us"]:
            by_size[record["frames"]] = record["io_time_us"]
    return times


def _shared_sizes(times_us: Mapping[str, Mapping[int, float]]) -> list[int]:
    if not times_us:
        return []
    return sorted(set.intersection(*(set(by_size) for by_size in times_us.values())))


def _against_baseline(
    section: Section, times_us: Mapping[str, Mapping[int, float]], sizes: Sequence[int]
) -> Finding:
    baseline = section.baseline or BASELINE
    ratios = {
        policy: {size: by_size[size] / times_us[baseline][size] for size in sizes}
        for policy, by_size in times_us.items()
        if policy != baseline
    }
    means = {policy: _mean(by_size.values()) for policy, by_size in ratios.items()}
    means = dict(sorted(means.items(), key=lambda item: item[1]))
    least = min(means.values())
    best = [policy for policy, mean in means.items() if mean - least < NOTICEABLE / 10]
    verb = "needs" if len(best) == 1 else "need"
    clock = _baseline_text(section)
    if least < 1 - NOTICEABLE:
        alike = sum(ratio_text(mean) == ratio_text(least) for mean in means.values())
        said = f"{all_of(best)} {verb} {_percent(1 - least)} less I/O time"
        if alike > len(best):
            said = less_text(means, "I/O time")
        lead = f"{said} than {clock} on {section.label}."
    elif least <= 1 + NOTICEABLE:
        lead = (
            f"No policy needs less I/O time than {clock} on {section.label}; "
            f"{all_of(best)} {verb} the same."
        )
    else:
        lead = (
            f"No policy needs less I/O time than {clock} on {section.label}; the nearest, "
            f"{all_of(best)}, {verb} {_percent(least - 1)} more."
        )
    detail = _baseline_detail(section, ratios[best[0]], sizes)
    verdict = _verdict(section, best, ratios[best[0]].values(), sizes, clock)
    return Finding(lead, detail + _over_bound(section, best, sizes) + _left_out(section), verdict)


def _verdict(
    section: Section,
    best: Sequence[str],
    ratios: Iterable[float],
    sizes: Sequence[int],
    against: str,
) -> Verdict:
    known = list(ratios)
    over_bound = _times_bound(section, best[0], sizes)
    return Verdict(all_of(best), _mean(known), min(known), max(known), over_bound, against)


def _baseline_detail(section: Section, ratios: Mapping[int, float], sizes: Sequence[int]) -> str:
    detail = _sizes_text(section, sizes)
    if len(sizes) > 1:
        lowest = min(sizes, key=lambda size: ratios[size])
        highest = max(sizes, key=lambda size: ratios[size])
        if ratios[highest] - ratios[lowest] >= NOTICEABLE:
            detail += (
                f" From {_change(ratios[lowest])} at {lowest:,} frames "
                f"to {_change(ratios[highest])} at {highest:,}."
            )
    return detail


def _against_best(
    section: Section, times_us: Mapping[str, Mapping[int, float]], sizes: Sequence[int]
) -> Finding:
    if len(times_us) == 1:
        [(policy, by_size)] = times_us.items()
        ends = unique([time_text(by_size[size]) for size in (sizes[-1], sizes[0])])
        return Finding(
            f"{policy} needs {' to '.join(ends)} of I/O time on {section.label}.",
            f"{_sizes_text(section, sizes, of='Over')} No other policy was run to compare it with."
            + _over_bound(section, [policy], sizes)
            + _left_out(section),
        )
    best_us = {size: min(by_size[size] for by_size in times_us.values()) for size in sizes}
    means = {
        policy: _mean(by_size[size] / best_us[size] for size in sizes)
        for policy, by_size in times_us.items()
    }
    least = min(means.values())
    best = [policy for policy, mean in means.items() if mean - least < NOTICEABLE / 10]
    if len(best) == len(means):
        lead = f"All policies need the same I/O time on {section.label}."
    else:
        verb = "needs" if len(best) == 1 else "need"
        lead = f"{all_of(best)} {verb} the least I/O time on {section.label}."
    detail = _sizes_text(section, sizes)
    if least > 1 + NOTICEABLE:
        detail += f" That is {_percent(least - 1)} above the best policy of each size."
    detail += " The policy clock was not run, so nothing is relative to it."
    ratios = [times_us[best[0]][size] / best_us[size] for size in sizes]
    verdict = _verdict(section, best, ratios, sizes, "the best of each size")
    return Finding(lead, detail + _over_bound(section, best, sizes) + _left_out(section), verdict)


def _over_bound(section: Section, policies: Sequence[str], sizes: Sequence[int]) -> str:
    """Say how far policies that share a place are from the lower bound, if it is known."""
    ratio = _times_bound(section, policies[0], sizes)
    if ratio is None:
        return ""
    verb = "takes" if len(policies) == 1 else "take"
    return (
        f" {all_of(policies)} {verb} {ratio_text(ratio)}\u00a0\u00d7 the I/O time of the lower "
        "bound, which no policy can go below."
    )


def _times_bound(section: Section, policy: str, sizes: Sequence[int]) -> float | None:
    ratios = {
        record["frames"]: record["io_time_over_bound"]
        for record in section.records
        if record["policy"] == policy
    }
    known = [ratios[size] for size in sizes if ratios[size] is not None]
    return _mean(known) if len(known) == len(sizes) else None


def _baseline_text(section: Section) -> str:
    if section.baseline == BASELINE:
        return "clock"
    return str(section.baseline)


def _sizes_text(section: Section, sizes: Sequence[int], of: str = "Geometric mean over") -> str:
    if len(sizes) == 1:
        return f"At {sizes[0]:,} frames{_share_text(section, sizes[0], sizes[0])}."
    share = _share_text(section, sizes[0], sizes[-1])
    span = f"{sizes[0]:,} to {sizes[-1]:,} frames{share}"
    return f"{of} {len(sizes)} memory sizes, {span}."


def _share_text(section: Section, smallest: int, largest: int) -> str:
    footprint_pages = section.footprint_pages
    if footprint_pages is None:
        return ""
    least, most = (size_share_text(size / footprint_pages) for size in (smallest, largest))
    if smallest == largest:
        return f", {most} of the footprint"
    return f" ({least} to {most} of the footprint)"


def _left_out(section: Section) -> str:
    offline = unique(
        record["policy"] for record in section.records if reads_the_future(meaning(record))
    )
    if not offline:
        return ""
    verb = "does" if len(offline) == 1 else "do"
    return f" {all_of(offline)} {verb} not compete: no running system can know the future."


def _percent(share: float) -> str:
    return f"{100 * share:.1f}\u00a0%"


def _change(ratio: float) -> str:
    if abs(ratio - 1) < NOTICEABLE:
        return "no difference"
    return f"{_percent(abs(ratio - 1))} {'less' if ratio < 1 else 'more'}"


def _mean(ratios: Iterable[float]) -> float:
    """Return the geometric mean, as half and double are to cancel each other."""
    return statistics.geometric_mean(ratios)
