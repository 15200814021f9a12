"""Policies that can drive real memory, with their defaults."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from clockhand import _engine
from clockhand.studies.programs.options import PAGE_BYTES, ProgramSettings
from clockhand.study.errors import UsageError, option
from clockhand.study.own_policies import is_in_python
from clockhand.study.policies import kind_of, name_of
from clockhand.study.records import Fields

OWN = "own"
"""What stands for the kind of a policy in Python."""


@dataclass(frozen=True)
class Planned:
    """Policies that can drive real memory, with their defaults, and the device of their costs.

    Attributes:
        policies: Facts of each policy, with ``name`` and ``resolved``.
        device: Facts of the device.
    """

    policies: list[Fields]
    device: Fields

    @classmethod
    def of(cls, policies: Sequence[str], settings: ProgramSettings) -> Self:
        """Resolve policies.

        Raises:
            UsageError: one is unknown, or cannot drive real memory.
        """
        plan = _engine.plan(
            "pages",
            {
                "policy": list(policies),
                "frames": str(settings.frames),
                "reserve": settings.reserve + settings.read_ahead,
                "page_size": str(PAGE_BYTES),
                "device": settings.device,
                "seed": settings.seed,
            },
            footprint_pages=settings.address_space_bytes // PAGE_BYTES,
        )
        for policy in policies:
            kind = kind_of(policy) or _kind_of_own(policy)
            if kind != "bit-driven":
                raise UsageError(
                    option("policy") + f" {policy}: {_why_not(kind)}", "choose another"
                )
        resolved = {
            cell["named"]["policy"]: cell["key"]["policy_resolved"] for cell in plan["cells"]
        }
        facts = [{**policy, "resolved": resolved[policy["name"]]} for policy in plan["policies"]]
        return cls(facts, plan["device"])


def _kind_of_own(policy: str) -> str:
    name = name_of(policy)
    kinds: dict[str, str] = {entry["name"]: entry["kind"] for entry in _engine.own_policies()}
    return OWN if is_in_python(name) else kinds[name]


def _why_not(kind: str) -> str:
    if kind == OWN:
        return "it is written in Python, which pages no real memory"
    if kind == "access-driven":
        return "it needs every hit, and real memory shows only faults and bits"
    return "it must know the future, so that no program can run under it"
