"""The policies that can be recommended, and what their default is on another device."""

from collections.abc import Iterable, Sequence
from fractions import Fraction

from clockhand import _engine
from clockhand.study.errors import UsageError, option
from clockhand.study.selections import expanded

COST_RATIO = "c"
"""The parameter whose default is the device's write/read ratio."""

OWN_COST_RATIO = "write_read_ratio"
"""The same of a policy in Python."""


def more_of(policies: str | type | Sequence[str | type], purpose: str) -> list[str]:
    """Return the policies to choose from beside the catalog's own, with their defaults.

    ``all`` and patterns stand for those of the catalog that can be recommended.

    Raises:
        UsageError: one is unknown, a bound, must know the future, or cannot drive real memory.
    """
    can_be = candidates_of(purpose)
    more = [policy for policy in expanded("policy", policies, can_be) if policy not in can_be]
    _check(more, purpose)
    return list(dict.fromkeys(more))


def _check(more: Sequence[str], purpose: str) -> None:
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
                option("policy") + f" {policy} is in Python, which pages no real memory",
                "name a bit-driven policy",
            )


def candidates_of(purpose: str) -> list[str]:
    """The policies to choose from: those that can run for real first, as equals go to the first."""
    kinds = {policy["name"]: policy["kind"] for policy in _engine.policies()}
    order = ["bit-driven"] if purpose == "pager" else ["bit-driven", "access-driven"]
    return [name for wanted in order for name, kind in kinds.items() if kind == wanted]


def with_cost_ratio(names: Iterable[str], ratio: Fraction) -> dict[str, str]:
    """Each policy as it would be by default on a device with another write/read ratio."""
    cost_ratios = {
        policy["name"]: (parameter["name"], parameter["only_with"])
        for policy in (*_engine.policies(), *_engine.own_policies())
        for parameter in policy["parameters"]
        if parameter["name"] in (COST_RATIO, OWN_COST_RATIO)
    }

    def scaled(policy: str) -> str:
        name = _engine.policy_name(policy)
        parameter, only_with = cost_ratios.get(name, (None, None))
        given = policy[len(name) + 1 :]
        settings = given.split(",")
        is_idle = only_with is not None and "=".join(only_with) not in settings
        if parameter is None or is_idle or any(it.startswith(f"{parameter}=") for it in settings):
            return policy
        return f"{name}:{parameter}={ratio}{',' if given else ''}{given}"

    return {name: scaled(name) for name in names}
