"""What is to be run: a program, and policies that can drive real memory, with their defaults."""

import platform
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from clockhand import _engine
from clockhand.capture.programs import Program
from clockhand.studies.programs.kernel_swap import remove_leftover_swap
from clockhand.studies.programs.machine import check_limits, check_machine, pageable
from clockhand.studies.programs.options import PAGE_BYTES, ProgramSettings
from clockhand.studies.programs.watched_program import Ended
from clockhand.study.errors import UsageError, option
from clockhand.study.facts import equivalent_command
from clockhand.study.own_policies import is_in_python
from clockhand.study.policies import kind_of, name_of
from clockhand.study.records import Fields, Record
from clockhand.study.run import run_facts
from clockhand.study.shell import shell_line

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
            {"policy": list(policies), **settings.simulated()},
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


@dataclass(frozen=True)
class Prepared:
    """A program that can be paged on this machine, with its settings and its policies."""

    program: Program
    settings: ProgramSettings
    planned: Planned

    @classmethod
    def of(cls, command: Sequence[str], policies: Sequence[str], options: Record) -> Self:
        """Check what is to be run.

        Raises:
            UsageError: something is unknown, out of range or contradictory, or cannot be paged.
            ClockhandError: this machine refuses.
        """
        settings = ProgramSettings.parse(options)
        planned = Planned.of(policies, settings)
        program = pageable(command)
        check_machine()
        check_limits(settings.address_space_bytes)
        if settings.swap is not None:
            remove_leftover_swap(settings.swap)
        return cls(program, settings, planned)

    def equivalent(self, **options: object) -> str:
        """Return the command line that does what a call of the library does."""
        words = equivalent_command("run", [], {**options, **self.settings.given()})
        return f"{words} -- {shell_line(self.program.command)}"

    def facts(
        self, ended: Ended, *, command: str, notes: Sequence[str], traces: Sequence[Record] = ()
    ) -> Any:
        """Return how a run was made."""
        return run_facts(
            command=command,
            seed=self.settings.seed,
            options={**self.settings.facts(), "kernel": platform.release()},
            program=shell_line(self.program.command),
            exit_code=ended.exit_code,
            seconds=ended.seconds,
            notes=list(notes),
            traces=traces,
            devices=[self.planned.device],
            policies=self.planned.policies,
        )


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
