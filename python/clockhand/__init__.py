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

TYPE_CHECKING = False
"""As of ``typing``, which takes longer to load than all that a small command needs."""

if TYPE_CHECKING:
    from clockhand._engine import Frames, __version__
    from clockhand.api import (
        break_even,
        compare,
        filecache,
        locality,
        pagecache,
        recommend,
        recommend_buffer,
        run,
        run_filecache,
        run_locality,
        run_pagecache,
        run_simulation,
        run_ssd,
        run_tier,
        run_translate,
        simulate,
        tier,
        translate,
        watch_buffers,
        watch_policies,
    )
    from clockhand.measure.run import MeasuredProfile, measure_memory, plan_storage
    from clockhand.serving.server import BlockServer, serve
    from clockhand.studies.filecache.run import FileCacheRun
    from clockhand.studies.locality.result import Locality
    from clockhand.studies.pagecache.run import PageCacheRun
    from clockhand.studies.pages.recommended import Recommendation
    from clockhand.studies.pages.result import Simulation
    from clockhand.studies.programs.comparison import PagedComparison
    from clockhand.studies.programs.result import PagedRun
    from clockhand.studies.ssd.recommendation import BufferRecommendation
    from clockhand.studies.ssd.result import SsdRun
    from clockhand.studies.tier.result import Tiering
    from clockhand.studies.translate.run import Translation
    from clockhand.studies.watch.buffers import WatchedBuffers
    from clockhand.studies.watch.result import Watched
    from clockhand.study.catalogs import (
        devices,
        formats,
        policies,
        ssds,
        tier_policies,
        tier_profiles,
        write_buffers,
    )
    from clockhand.study.errors import ClockhandError, UsageError
    from clockhand.study.new_policy import new_policy
    from clockhand.study.own_policies import (
        Conformance,
        check_policy,
        policy,
        use_policy_library,
    )
    from clockhand.study.policies import Policy
    from clockhand.traces import Trace, convert_traces
    from clockhand.traces.synthetic import recipes, synthesize

_PLACES = {
    "BlockServer": "clockhand.serving.server",
    "BufferRecommendation": "clockhand.studies.ssd.recommendation",
    "ClockhandError": "clockhand.study.errors",
    "Conformance": "clockhand.study.own_policies",
    "FileCacheRun": "clockhand.studies.filecache.run",
    "Frames": "clockhand._engine",
    "Locality": "clockhand.studies.locality.result",
    "MeasuredProfile": "clockhand.measure.run",
    "PageCacheRun": "clockhand.studies.pagecache.run",
    "PagedComparison": "clockhand.studies.programs.comparison",
    "PagedRun": "clockhand.studies.programs.result",
    "Policy": "clockhand.study.policies",
    "Recommendation": "clockhand.studies.pages.recommended",
    "Simulation": "clockhand.studies.pages.result",
    "SsdRun": "clockhand.studies.ssd.result",
    "Tiering": "clockhand.studies.tier.result",
    "Trace": "clockhand.traces",
    "Translation": "clockhand.studies.translate.run",
    "UsageError": "clockhand.study.errors",
    "Watched": "clockhand.studies.watch.result",
    "WatchedBuffers": "clockhand.studies.watch.buffers",
    "__version__": "clockhand._engine",
    "break_even": "clockhand.studies.filecache.run",
    "check_policy": "clockhand.study.own_policies",
    "compare": "clockhand.studies.programs.comparison",
    "convert_traces": "clockhand.traces",
    "devices": "clockhand.study.catalogs",
    "filecache": "clockhand.studies.filecache.run",
    "formats": "clockhand.study.catalogs",
    "locality": "clockhand.studies.locality.run",
    "measure_memory": "clockhand.measure.run",
    "new_policy": "clockhand.study.new_policy",
    "pagecache": "clockhand.studies.pagecache.run",
    "plan_storage": "clockhand.measure.run",
    "policies": "clockhand.study.catalogs",
    "policy": "clockhand.study.own_policies",
    "recipes": "clockhand.traces.synthetic",
    "recommend": "clockhand.studies.pages.recommendation",
    "recommend_buffer": "clockhand.studies.ssd.recommendation",
    "run": "clockhand.studies.programs.run",
    "run_filecache": "clockhand.studies.filecache.run",
    "run_locality": "clockhand.studies.locality.run",
    "run_pagecache": "clockhand.studies.pagecache.run",
    "run_simulation": "clockhand.studies.pages.run",
    "run_ssd": "clockhand.studies.ssd.run",
    "run_tier": "clockhand.studies.tier.run",
    "run_translate": "clockhand.studies.translate.run",
    "serve": "clockhand.serving.server",
    "simulate": "clockhand.studies.pages.run",
    "ssds": "clockhand.study.catalogs",
    "synthesize": "clockhand.traces.synthetic",
    "tier": "clockhand.studies.tier.run",
    "tier_policies": "clockhand.study.catalogs",
    "tier_profiles": "clockhand.study.catalogs",
    "translate": "clockhand.studies.translate.run",
    "use_policy_library": "clockhand.study.own_policies",
    "watch_buffers": "clockhand.studies.watch.buffers",
    "watch_policies": "clockhand.studies.watch.run",
    "write_buffers": "clockhand.study.catalogs",
}
"""Where each name is; importing all of it at once would take half a second."""

_OLDER = {
    "filecache": "run_filecache",
    "locality": "run_locality",
    "pagecache": "run_pagecache",
    "simulate": "run_simulation",
    "tier": "run_tier",
    "translate": "run_translate",
}
"""Older names, which go with 0.3."""

__all__ = [
    "BlockServer",
    "BufferRecommendation",
    "ClockhandError",
    "Conformance",
    "FileCacheRun",
    "Frames",
    "Locality",
    "MeasuredProfile",
    "PageCacheRun",
    "PagedComparison",
    "PagedRun",
    "Policy",
    "Recommendation",
    "Simulation",
    "SsdRun",
    "Tiering",
    "Trace",
    "Translation",
    "UsageError",
    "Watched",
    "WatchedBuffers",
    "__version__",
    "break_even",
    "check_policy",
    "compare",
    "convert_traces",
    "devices",
    "filecache",
    "formats",
    "locality",
    "measure_memory",
    "new_policy",
    "pagecache",
    "plan_storage",
    "policies",
    "policy",
    "recipes",
    "recommend",
    "recommend_buffer",
    "run",
    "run_filecache",
    "run_locality",
    "run_pagecache",
    "run_simulation",
    "run_ssd",
    "run_tier",
    "run_translate",
    "serve",
    "simulate",
    "ssds",
    "synthesize",
    "tier",
    "tier_policies",
    "tier_profiles",
    "translate",
    "use_policy_library",
    "watch_buffers",
    "watch_policies",
    "write_buffers",
]


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
