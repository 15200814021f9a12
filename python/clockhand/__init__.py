"""Memory-replacement policies where a write costs more than a read.

* :func:`run_simulation` replays traces against policies.
* :func:`run_locality` shows how a program uses its pages, for reads and writes apart.
* :class:`Trace` is a trace, from a file or from NumPy arrays.
* :func:`synthesize` makes a synthetic trace from a recipe; :func:`recipes` lists those that come
  with the package.
* :func:`convert_traces` writes traces to a Parquet file.
* :func:`watch_policies` makes a page that plays every step of one policy, or of two, and
  :func:`watch_buffers` one of write buffers.
* :func:`recommend` says which policy suits a program, a device and a memory size.
* :func:`recommend_buffer` says which write buffer suits a flash drive, and how large.
* :mod:`clockhand.sweep` runs experiments that are files, and keeps every cell.
* :func:`run_tier` says how much DRAM slow memory can replace, and under which policy.
* :func:`run_translate` says which page size, TLB and memory suit a program and its storage.
* :func:`run_pagecache` does the same for traces of calls, syncs and truncations: one page cache for
  processes and files.
* :func:`run_ssd` puts write buffers before flash drives.
* :func:`serve` is a write buffer as a real block device, for every NBD client.
* :func:`run_filecache` tells whether a file cache pays on a device, and :func:`break_even` from
  which hit on.
* :func:`plan_storage` and :func:`measure_memory` make a device profile of this machine.
* :func:`run` runs a program whose memory a policy pages, and :func:`compare` runs it under several
  policies and under the kernel's own swap.
* :class:`Policy` is a policy or a write buffer with parameters.
* :func:`policies`, :func:`write_buffers`, :func:`devices`, :func:`ssds` and :func:`formats` list
  what there is.
* :func:`policy` makes a policy of a class of yours, :class:`Frames` is what it sees, and
  :func:`check_policy` tries on it the rules that every policy keeps.
* :mod:`clockhand.report` turns rows into figures and an HTML report.

Everything that cannot be done raises :class:`ClockhandError`, whose message is one sentence that
says where and what to do; what was asked for wrongly raises its subclass :class:`UsageError`.
"""

_NAMES = {
    "_engine": ("Frames", "__version__"),
    "measure.run": ("MeasuredProfile", "measure_memory", "plan_storage"),
    "serving.server": ("BlockServer", "serve"),
    "studies.filecache.run": ("FileCacheRun", "break_even", "filecache", "run_filecache"),
    "studies.locality.run": ("Locality", "locality", "run_locality"),
    "studies.pagecache.run": ("PageCacheRun", "pagecache", "run_pagecache"),
    "studies.pages.recommendation": ("recommend",),
    "studies.pages.recommended": ("Recommendation",),
    "studies.pages.run": ("Simulation", "run_simulation", "simulate"),
    "studies.programs.comparison": ("PagedComparison", "compare"),
    "studies.programs.run": ("PagedRun", "run"),
    "studies.ssd.recommendation": ("BufferRecommendation", "recommend_buffer"),
    "studies.ssd.run": ("SsdRun", "run_ssd"),
    "studies.tier.run": ("Tiering", "run_tier", "tier"),
    "studies.translate.run": ("Translation", "run_translate", "translate"),
    "studies.watch.buffers": ("WatchedBuffers", "watch_buffers"),
    "studies.watch.run": ("Watched", "watch_policies"),
    "study.catalogs": (
        "devices",
        "formats",
        "policies",
        "ssds",
        "tier_policies",
        "tier_profiles",
        "write_buffers",
    ),
    "study.errors": ("ClockhandError", "UsageError"),
    "study.new_policy": ("new_policy",),
    "study.own_policies": ("Conformance", "check_policy", "policy", "use_policy_library"),
    "study.policies": ("Policy",),
    "traces": ("Trace", "convert_traces"),
    "traces.synthetic": ("recipes", "synthesize"),
}
"""The public names, by module; to import all of them at once would take half a second."""

_OLDER = {
    "filecache": "run_filecache",
    "locality": "run_locality",
    "pagecache": "run_pagecache",
    "simulate": "run_simulation",
    "tier": "run_tier",
    "translate": "run_translate",
}
"""Older names, which go with 0.3."""

_PLACES = {name: f"clockhand.{module}" for module, names in _NAMES.items() for name in names}
__all__ = sorted(_PLACES)


def __getattr__(name: str) -> object:
    """Import what is asked for; the version of a command needs none of it."""
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value: object = getattr(import_module(_PLACES[name]), _OLDER.get(name, name))
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [name for name in globals() if name.startswith("__")] + __all__
