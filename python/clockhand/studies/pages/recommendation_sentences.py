"""The sentences of a recommendation: the choice, how far the bound is, and how robust it is."""

from collections.abc import Sequence
from dataclasses import dataclass

from clockhand.report.words import percent, time_text
from clockhand.study.facts import base_names
from clockhand.study.phrases import all_of
from clockhand.study.policies import BASELINE, BOUND, FEASIBLE, OPTIMUM
from clockhand.study.records import Fields

Times = dict[str, float]


@dataclass(frozen=True)
class Situation:
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


def choice(asked: Situation, policy: str, candidates: Sequence[str], place: Fields) -> str:
    trace = base_names([place["trace"]])[place["trace"]]
    where = (
        f"on {trace} with {asked.frames:,} frames ({percent(place['memory_share'])} of "
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
        f"{time_text(time_us)}, {' and '.join(against)}."
    )


def distance(asked: Situation, policy: str) -> str:
    time_us, bound_us = asked.times_us[policy], asked.times_us[BOUND]
    if bound_us == 0:
        return "The lower bound is no I/O at all."
    if time_us == bound_us:
        return f"That is the lower bound, {time_text(bound_us)}: no policy can need less."
    return (
        f"The lower bound, which no policy can pass, is {time_text(bound_us)}: {policy} needs "
        f"{time_us / bound_us:.2f} times as much, {OPTIMUM}, which knows the future and misses "
        f"least, {asked.times_us[OPTIMUM] / bound_us:.2f} times. A schedule that knows the future "
        f"and what a write costs needs {time_text(asked.times_us[FEASIBLE])}, "
        f"{asked.times_us[FEASIBLE] / bound_us:.3f} times: the optimum is in between."
    )


def robustness(situations: Sequence[Situation], policy: str, candidates: Sequence[str]) -> str:
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


def least_regret(
    situations: Sequence[Situation], policy: str, candidates: Sequence[str]
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


def regret(first: Situation, second: Situation, candidates: Sequence[str]) -> str:
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
