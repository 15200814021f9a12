"""Values that shells complete: what the catalogs name, one behind another with commas."""

from collections.abc import Callable, Iterable, Mapping

from clockhand import _engine
from clockhand.study.records import Record

_ENDS = ("bound", "opt-feasible")
"""The ends of the optimum's bracket, which are not policies."""

Values = Callable[[str], list[str]]


def _named(entries: Iterable[Record]) -> list[str]:
    return [entry["name"] for entry in entries]


CATALOGS: Mapping[str, Callable[[], list[str]]] = {
    "admissions": lambda: list(_engine.admissions()),
    "contenders": lambda: [*_named(_engine.policies()), "kernel"],
    "devices": lambda: _named(_engine.devices()),
    "formats": lambda: _named(_engine.formats()),
    "policies": lambda: [name for name in _named(_engine.policies()) if name not in _ENDS],
    "pages_of_devices": lambda: _named((*_engine.devices(), *_engine.ssds())),
    "pages_of_policies": lambda: _named((*_engine.policies(), *_engine.write_buffers())),
    "policies_and_bounds": lambda: _named(_engine.policies()),
    "readings": lambda: list(_engine.readings()),
    "recipes": lambda: _named(_engine.recipes()),
    "ssds": lambda: _named(_engine.ssds()),
    "tier_policies": lambda: _named((*_engine.tier_policies(), *_engine.policies())),
    "tiers": lambda: _named(_engine.tier_profiles()),
    "write_buffers": lambda: _named(_engine.write_buffers()),
}


def values_of(catalog: str, *, several: bool = False) -> Values:
    """Return what completes a value with the names of a catalog.

    Args:
        catalog: One of :data:`CATALOGS`; nothing is completed of others.
        several: Whether names stand one behind another with commas.
    """

    def completed(incomplete: str) -> list[str]:
        if catalog not in CATALOGS:
            return []
        names = CATALOGS[catalog]()
        if not several:
            return [name for name in names if name.startswith(incomplete)]
        before, comma, begun = incomplete.rpartition(",")
        given = before.split(",")
        wanted = [name for name in [*names, "all"] if name.startswith(begun) and name not in given]
        return [f"{before}{comma}{name}" for name in wanted]

    return completed


def words_of(words: Iterable[str]) -> Values:
    """Return what completes one of a few words."""
    return lambda incomplete: [word for word in words if word.startswith(incomplete)]
